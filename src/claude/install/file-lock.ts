/**
 * The host's own lock on its state file, so that neither side loses the other's changes. It is a folder next to the
 * file, as created by the host's library (proper-lockfile). The host rereads the file once it holds the lock.
 */
import { existsSync, mkdirSync, statSync } from "node:fs"
import { CtxError, codeOf } from "../../util/errors.ts"
import { removeIfEmpty } from "./install-record.ts"

/** ms after which the host's library considers a lock abandoned by a dead process. */
const STALE = 10_000
/** How long we wait for a lock, in ms: long enough to recognise an abandoned one. */
const PATIENCE = STALE + 1000
const PAUSE = 20
const ATTEMPTS = 5

/** Runs `work` under the lock, and retries if a host that does not lock writes at the same moment. */
export function withHostLock<T>(file: string, work: () => T): T {
  // The host locks the path it was given, even a link.
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

/** @returns false if no lock can be created; `work` then reports why, and checks for concurrent changes itself */
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
      // As the host's library does. Otherwise the lock of an install that was killed would stay forever.
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
