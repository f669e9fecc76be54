/** The host's own figures of a query or process → rows of the views. */
import type { HostResult, TranscriptRecord } from "../record/types.ts"
import type { Database } from "./database.ts"
import { hash } from "./identity.ts"
import type { TranscriptRow } from "./transcript-rows.ts"

/**
 * A copy in a transcript that the host has rewritten changes nothing. A fork keeps the copies of its origin's, from whose
 * total its own process goes on (queries/token-use.ts).
 */
export function noteResult(
  db: Database,
  { id, session }: TranscriptRow,
  { record, offset }: Line,
  { kind, isError, cost, requests, duration, tokens, mark }: HostResult,
): void {
  db.query(
    `INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(
    hash("host-result", session, kind, mark),
    session,
    id,
    offset,
    kind,
    isError ? 1 : 0,
    cost ?? null,
    requests === undefined ? null : Math.round(requests),
    duration ?? null,
    tokens?.input ?? null,
    tokens?.output ?? null,
    tokens?.cacheCreation ?? null,
    tokens?.cacheRead ?? null,
    record.timestamp ?? null,
  )
}

/* Collects what the lines of a turn add to its row, and writes it once. */

/** A line and its place. Offset and length are in bytes; the length excludes the newline. */
export interface Line {
  readonly record: TranscriptRecord
  readonly offset: number
  readonly length: number
}

/** What a line adds to its turn. */
export interface Effect {
  answer: string | null
  tools: number
  errors: number
  interrupted: number
  /** Whether a command that succeeded names an error in its output; that is no failure of the turn's. */
  tellsError?: boolean
}

/** What the lines since the last flush add to their turn. */
interface Growth extends Readonly<Effect> {
  readonly turn: number
  readonly last: number
  readonly ended: string | null
}

const NO_GROWTH: Growth = { turn: 0, last: 0, ended: null, answer: null, tools: 0, errors: 0, interrupted: 0 }

export class TurnGrowth {
  readonly #db: Database
  #growth: Growth | undefined

  constructor(db: Database) {
    this.#db = db
  }

  add(turn: number, { record, offset, length }: Line, effect: Effect): void {
    if (this.#growth?.turn !== turn) this.flush()
    const { answer, tools, errors, interrupted, last, ended } = this.#growth ?? NO_GROWTH
    this.#growth = {
      turn,
      last: Math.max(last, offset + length),
      ended: record.timestamp ?? ended,
      answer: effect.answer ?? answer,
      tools: tools + effect.tools,
      errors: errors + effect.errors,
      interrupted: Math.max(interrupted, effect.interrupted),
    }
  }

  flush(): void {
    if (this.#growth === undefined) return
    const { turn, last, ended, answer, tools, errors, interrupted } = this.#growth
    this.#growth = undefined
    this.#db
      .query(
        `UPDATE turns SET last = max(last, ?), ended = coalesce(?, ended), answer = coalesce(?, answer),
           tools = tools + ?, errors = errors + ?, interrupted = max(interrupted, ?) WHERE id = ?`,
      )
      .run(last, ended, answer, tools, errors, interrupted, turn)
  }
}
