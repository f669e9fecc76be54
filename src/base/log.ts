/**
 * Logs errors of hooks and of the job to a file, since stderr belongs to Claude Code. Never contains transcript text.
 */
import { FILTERED, filterText } from "../secrets/filter.ts"
import { codeOf, messageOf } from "./errors.ts"
import { tryTo } from "./files.ts"
import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync } from "./fs.ts"
import { parseLines } from "./json-files.ts"
import { join } from "./path.ts"

const LARGEST = 1 << 20

export const logPath = (stateHome: string): string => join(stateHome, "ctxbridge.log")

/**
 * Appends one JSON line. Never throws: there is no one left to tell.
 *
 * @param entry `step`: of a hook's steps, the one that failed
 */
export function logError(
  stateHome: string,
  entry: { event: string; error: unknown; session?: string; step?: string },
): void {
  try {
    const path = logPath(stateHome)
    mkdirSync(stateHome, { recursive: true, mode: 0o700 })
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LARGEST) renameSync(path, `${path}.1`)
    const { event, step, error, session } = entry
    const line = {
      time: new Date().toISOString(),
      event,
      step,
      session,
      code: codeOf(error),
      message: filterText(messageOf(error), FILTERED),
    }
    appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: 0o600 })
  } catch {
    // nothing can be done
  }
}

/** One line of the log. */
export interface LoggedError {
  readonly time: string
  readonly event: string
  readonly step?: string
  readonly session?: string
  readonly code: string
  readonly message: string
}

/** The newest entry; undefined when nothing ever went wrong. The file is at most a megabyte. */
export function lastError(stateHome: string): LoggedError | undefined {
  for (const path of [logPath(stateHome), `${logPath(stateHome)}.1`]) {
    const latest = entriesIn(path).at(-1)
    if (latest !== undefined) return latest
  }
  return undefined
}

/** The entries of a log file, oldest first; empty when there is no file. An incomplete line is skipped. */
export const entriesIn = (path: string): LoggedError[] =>
  parseLines(tryTo(() => readFileSync(path, "utf8")) ?? "").filter(isEntry)

const isEntry = (value: unknown): value is LoggedError => {
  const { time, message } = (value ?? {}) as Record<string, unknown>
  return typeof time === "string" && typeof message === "string"
}
