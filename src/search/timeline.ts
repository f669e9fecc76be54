/** The turns before and after a given one in its session. */
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { filesOf, type TouchedFile } from "../archive/queries/files.ts"
import { type TurnRow, turnsBetween } from "../archive/queries/turns.ts"
import { type TakenBack, takenBackOf } from "../archive/taken-back.ts"

export interface TimelineTurn extends TakenBack {
  /** With `ctx:`. */
  readonly handle: string
  readonly seq: number
  readonly started: string | null
  readonly prompt: string
  readonly answer: string
  readonly tools: number
  readonly errors: number
  /** Files that the turn wrote or edited. */
  readonly changed: readonly string[]
}

const isChange = ({ op }: TouchedFile): boolean => op === "edit" || op === "write"

/** @param around maximum number of turns on each side */
export function timeline(db: Database, { session, seq }: TurnRow, around: number): TimelineTurn[] {
  return turnsBetween(db, session, seq - around, seq + around).map((turn) => ({
    handle: HANDLE_PREFIX + turn.handle,
    seq: turn.seq,
    started: turn.started,
    prompt: turn.prompt,
    answer: turn.answer,
    tools: turn.tools,
    errors: turn.errors,
    changed: filesOf(db, turn.id)
      .filter(isChange)
      .map(({ path }) => path),
    ...takenBackOf(turn),
  }))
}
