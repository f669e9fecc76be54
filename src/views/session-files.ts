/** What hooks remember of sessions: small files beside vault and views. */
import { isMissing } from "../base/errors.ts"
import { asideOf, readReplaced, tryTo } from "../base/files.ts"
import { closeSync, existsSync, readFileSync, rmSync } from "../base/fs.ts"
import { fileNamesIn, readJson } from "../base/json-files.ts"
import { holdLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"

export const sessionFolder = (dataHome: string): string => join(dataHome, "sessions")

/** ms to wait for another process that is changing them. A change takes about 1 ms unless its process is stopped. */
const PATIENCE = 50

/**
 * Reads, changes and writes files of sessions under a lock, so that nobody's changes are lost. If the lock is not free
 * in time or cannot be had, goes on without it: the user must not wait for these files.
 */
export function changingSessions<T>(dataHome: string, change: () => T): T {
  // The very first call creates the folder, and there is nobody to disturb.
  if (!existsSync(sessionFolder(dataHome))) return change()
  const fd = tryTo(() => holdLockFile(join(dataHome, "sessions.lock"), PATIENCE))
  try {
    return change()
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** What the hooks remember of one session. */
export const sessionFile = (dataHome: string, session: string): string =>
  join(sessionFolder(dataHome), `${session}.json`)

export const readSession = (dataHome: string, session: string): unknown =>
  readReplaced(sessionFile(dataHome, session), readJson)

/** Bytes of a session's transcript when Claude Code last resumed it; 0 if unknown. */
export function resumedAt(dataHome: string, session: string): number {
  const state = readSession(dataHome, session) as { resumedAt?: unknown } | undefined
  return typeof state?.resumedAt === "number" ? state.resumedAt : 0
}

/** The autopilot's state of the session with the latest prompt, for other tools. */
export const sharedState = (dataHome: string): string => join(dataHome, "autopilot-state.json")

/** Removes it if it is about one of these sessions, along with what a killed process has set aside of it. */
export function removeSharedState(dataHome: string, sessions: ReadonlySet<string>): void {
  for (const file of [sharedState(dataHome), asideOf(sharedState(dataHome))]) {
    try {
      const { sessionId } = JSON.parse(readFileSync(file, "utf8")) as { sessionId?: unknown }
      if (typeof sessionId === "string" && !sessions.has(sessionId)) continue
    } catch (error) {
      if (isMissing(error)) continue
    }
    rmSync(file, { force: true })
  }
}

/**
 * Removes every file of the folder for which `wanted` returns true, including half-written ones.
 *
 * @param wanted receives the file's name and its bytes
 * @returns how many were removed
 */
export function removeSessionFiles(
  dataHome: string,
  wanted: (name: string, bytes: Uint8Array) => boolean,
): number {
  let removed = 0
  for (const name of fileNamesIn(sessionFolder(dataHome), isMissing)) {
    const file = join(sessionFolder(dataHome), name)
    try {
      if (!wanted(name, readFileSync(file))) continue
    } catch (error) {
      if (isMissing(error)) continue
      throw error
    }
    rmSync(file, { force: true })
    removed++
  }
  return removed
}
