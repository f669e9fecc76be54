/**
 * The host's own lock of its state file, so that neither loses what the other writes: a folder beside the file, as the
 * host's library (proper-lockfile) makes it. The host reads the file again once it has the lock.
 */
import { existsSync, mkdirSync, statSync } from "node:fs"
import { CtxError, codeOf } from "../util/errors.ts"
import { removeIfEmpty } from "./manifest.ts"

/** ms after which the host's library takes a lock to be left behind by a process that died. */
const STALE = 10_000
/** ms for which another may hold it: until then, one that was left behind is known as that. */
const PATIENCE = STALE + 1000
const PAUSE = 20
const ATTEMPTS = 5

/** Runs `work` under the lock; again when a host that takes no lock wrote at the same moment. */
export function withHostLock<T>(file: string, work: () => T): T {
  // Where the host names it, link or not.
  const lock = `${file}.lock`
  const held = take(lock, performance.now() + PATIENCE)
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return work()
      } catch (error) {
        if (codeOf(error) !== "settings-changed" || attempt >= ATTEMPTS) throw error
      }
    }
  } finally {
    if (held) removeIfEmpty(lock)
  }
}

/** @returns false where no lock can be made; the work will tell why, and checks before it writes that nobody has */
function take(lock: string, deadline: number): boolean {
  for (;;) {
    try {
      mkdirSync(lock)
      return true
    } catch (error) {
      if (codeOf(error) !== "EEXIST") return false
    }
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs
    if (since !== undefined && Date.now() - since > STALE) {
      // As the host's library does. An install of ours that was killed would otherwise leave it there for good.
      if (!removeIfEmpty(lock) && existsSync(lock)) return false
      continue
    }
    if (performance.now() > deadline) {
      throw new CtxError("settings-changed", "Claude Code is writing its state file", {
        hint: "nothing was changed; run the command again",
      })
    }
    Bun.sleepSync(PAUSE)
  }
}
