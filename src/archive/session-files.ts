/** What hooks remember of sessions, in small files beside vault and views. */

import { isMissing } from "../util/errors.ts"
import { asideOf, readReplaced } from "../util/files.ts"
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { lock } from "../vault/lock.ts"

export const sessionFolder = (dataHome: string): string => join(dataHome, "sessions")

/** ms to wait for another process that changes them: all have done so in one, but for those that were stopped. */
const PATIENCE = 50

/**
 * Reads, changes and writes files of sessions while nobody else does: what others have written is not lost. Where the lock
 * is not to be had in time, without it: these files are no reason to let the user wait.
 */
export function changingSessions<T>(dataHome: string, change: () => T): T {
  const folder = sessionFolder(dataHome)
  // The first of all makes it, and disturbs nobody.
  if (!existsSync(folder)) return change()
  const fd = openSync(folder, "r")
  try {
    lock(fd, performance.now() + PATIENCE)
    return change()
  } finally {
    closeSync(fd)
  }
}

/** Bytes of a session's transcript when the host last took it up again; 0 where nobody knows of that. */
export function resumedAt(dataHome: string, session: string): number {
  const file = join(sessionFolder(dataHome), `${session}.json`)
  const state = readReplaced(file, readJson) as { resumedAt?: unknown } | undefined
  return typeof state?.resumedAt === "number" ? state.resumedAt : 0
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch {
    return undefined
  }
}

/** The autopilot's state of the session with the last prompt, for other tools. */
export const sharedState = (dataHome: string): string => join(dataHome, "autopilot-state.json")

/** Removes it when it is about one of these sessions, and what a killed process has set aside of it. */
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
 * Removes every file of the folder, half-written ones included, that `wanted` says yes to.
 *
 * @param wanted is given the file's name and its bytes
 * @returns how many went
 */
export function removeSessionFiles(
  dataHome: string,
  wanted: (name: string, bytes: Uint8Array) => boolean,
): number {
  let removed = 0
  for (const name of namesIn(sessionFolder(dataHome))) {
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
