/** The turns before and after a given one in its session. */
import type { Database } from "./database.ts"
import type { TakenBack } from "./queries/scope.ts"
import { filesOf, type TouchedFile } from "./queries/touched-files.ts"
import { turnsBetween } from "./queries/turns.ts"
import { type Turn, turnOf } from "./turn.ts"

export interface TimelineTurn
  extends Pick<Turn, "handle" | "seq" | "started" | "prompt" | "answer" | "tools" | "errors" | "others">,
    TakenBack {
  /** Files that the turn wrote or edited. */
  readonly changed: readonly string[]
}

const isChange = ({ op }: TouchedFile): boolean => op === "edit" || op === "write"

/** @param around maximum number of turns on each side */
export function timelineOf(db: Database, { session, seq }: Turn, around: number): TimelineTurn[] {
  return turnsBetween(db, session, seq - around, seq + around).map((row) => {
    const turn = turnOf(row)
    const { handle, started, prompt, answer, tools, errors } = turn
    const changed = filesOf(db, row.id)
      .filter(isChange)
      .map(({ path }) => path)
    return {
      ...{ handle, seq: turn.seq, started, prompt, answer, tools, errors, changed },
      ...(turn.takenBack ? { takenBack: true } : {}),
      ...(turn.others ? { others: true } : {}),
    }
  })
}
