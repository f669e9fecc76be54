/**
 * One install or uninstall at a time: each reads Claude Code's files and our record of them, and then writes both. The
 * lock is on the home folder itself, so that it leaves no file behind.
 */
import { closeSync } from "node:fs"
import { CtxError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { openForLock } from "../../base/folder-lock.ts"
import { lock } from "../../base/lock.ts"

/** How long we wait for others, in ms. */
const PATIENCE = 30_000

/**
 * Runs `work` while no other install or uninstall of this user is at work. Must not be nested.
 *
 * @throws CtxError `busy`
 */
export function oneAtATime<T>(home: string, work: () => T): T {
  // If there is no such folder, or none that we may open, nobody can be kept out.
  const folder = tryTo(() => openForLock(home))
  if (folder === undefined) return work()
  try {
    if (lock(folder, performance.now() + PATIENCE)) return work()
    throw new CtxError("busy", "another install or uninstall is running", {
      hint: "nothing was changed; try again when it is done",
    })
  } finally {
    closeSync(folder)
  }
}
