/**
 * One install or uninstall at a time: each reads Claude Code's files and our record of them, and then writes both. The
 * lock is on the home folder itself, so that it leaves no file behind.
 */
import { throwBusy } from "../../base/errors.ts"
import { withFolderLock } from "../../base/folder-lock.ts"

/** How long we wait for others, in ms. */
const PATIENCE = 30_000

/**
 * Runs `work` while no other install or uninstall of this user is at work. Must not be nested.
 *
 * @throws CtxError `busy`
 */
export const oneAtATime = <T>(home: string, work: () => T): T =>
  withFolderLock(home, PATIENCE, work, () =>
    throwBusy("another install or uninstall is running", "nothing was changed; try again when it is done"),
  )
