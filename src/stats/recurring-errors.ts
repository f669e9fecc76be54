/** Errors that come up again: the same line, whatever numbers, ids and folders are in it. Pure. */

import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import type { FailedCall } from "../archive/queries/activity.ts"
import { errorLinesIn } from "../transcript/error-lines.ts"

export interface RecurringError {
  /** The line that names it, as it was the last time. */
  readonly error: string
  readonly tool: string
  readonly times: number
  /** Turns in which it came up. */
  readonly turns: number
  readonly first: string | null
  readonly last: string | null
  /** The latest turn, with `ctx:`. */
  readonly handle: string
  /** Id of the latest message that holds it. */
  readonly message: number
}

/** @param failed in the order in which they happened @returns the most frequent first */
export function recurringErrors(failed: Iterable<FailedCall>): RecurringError[] {
  const found = new Map<string, RecurringError>()
  for (const { tool, error, result, handle, time } of failed) {
    const [line] = errorLinesIn(error, true)
    if (line === undefined) continue
    const key = essenceOf(line)
    const known = found.get(key)
    const isNewTurn = known?.handle !== HANDLE_PREFIX + handle
    found.set(key, {
      error: line,
      tool,
      times: (known?.times ?? 0) + 1,
      turns: (known?.turns ?? 0) + (isNewTurn ? 1 : 0),
      first: known?.first ?? time,
      last: time,
      handle: HANDLE_PREFIX + handle,
      message: result,
    })
  }
  return [...found.values()]
    .filter(({ times }) => times > 1)
    .sort((a, b) => b.times - a.times || ((a.last ?? "") < (b.last ?? "") ? 1 : -1))
}

/** Without what differs between two occurrences of one error. */
const essenceOf = (line: string): string =>
  line
    .replace(/(?:[A-Za-z]:)?(?:[\w.@~-]*[\\/])+(?=[\w.@-])/g, "")
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{7,}\b/gi, "#")
    .replace(/\d+/g, "#")
    .toLowerCase()
