/** What hooks remember of sessions, in small files beside vault and views. */

import { isMissing } from "../util/errors.ts"
import { asideOf, readReplaced } from "../util/files.ts"
import { readdirSync, readFileSync, rmSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

export const sessionFolder = (dataHome: string): string => join(dataHome, "sessions")

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
