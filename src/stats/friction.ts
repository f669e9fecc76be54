/** What gets in the way again and again: calls that fail, files edited over and over, errors that come back. */

import type { Database } from "../archive/database.ts"
import {
  callsFailed,
  type EditedFile,
  type FailedCall,
  filesEdited,
  type ToolTotal,
  toolTotals,
  turnsDone,
} from "../archive/queries/activity.ts"
import type { StatsSpan } from "../archive/queries/span.ts"
import { fixesFor } from "../search/fixes.ts"
import { WholeCalls } from "../search/whole-calls.ts"
import { CopyReaders } from "../vault/reader.ts"
import { hourFinder } from "./local-hours.ts"
import { type RecurringError, recurringErrors } from "./recurring-errors.ts"

/** An error, and whether the last call with it was seen to succeed later. */
export interface MetError extends Omit<RecurringError, "message"> {
  /** The turn in which it did, with `ctx:`. */
  readonly solvedIn: string | null
}

export interface Friction {
  /** Turns that the human stopped, and that the human took back. */
  readonly interrupted: number
  readonly takenBack: number
  /** Calls that failed, by the local hour in which their turns began, from 0 to 23. */
  readonly failuresByHour: readonly number[]
  /** The most used first. */
  readonly tools: readonly ToolTotal[]
  /** The most edited first. */
  readonly files: readonly EditedFile[]
  /** The most frequent first. */
  readonly errors: readonly MetError[]
}

/** @param most files and errors at most */
export function gatherFriction(db: Database, dataHome: string, span: StatsSpan, most: number): Friction {
  using readers = new CopyReaders()
  const calls = new WholeCalls(db, dataHome, readers)
  let [interrupted, takenBack] = [0, 0]
  for (const turn of turnsDone(db, span)) {
    interrupted += turn.interrupted
    takenBack += turn.takenBack
  }
  const failed = [...callsFailed(db, span)]
  const errors = recurringErrors(failed)
    .slice(0, most)
    .map(({ message, ...error }) => {
      const [found] = fixesFor(db, [message], calls)
      return { ...error, solvedIn: found?.[0].solvedIn ?? null }
    })
  return {
    interrupted,
    takenBack,
    failuresByHour: byHour(failed),
    tools: toolTotals(db, span),
    files: filesEdited(db, span, most),
    errors,
  }
}

function byHour(failed: readonly FailedCall[]): number[] {
  const hours = Array.from({ length: 24 }, () => 0)
  const slotOf = hourFinder()
  for (const { time } of failed) {
    const slot = slotOf(time)
    if (slot !== undefined) hours[slot.hour]!++
  }
  return hours
}
