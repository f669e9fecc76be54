/**
 * Prompts of sessions whose transcripts are not archived, from Claude Code's list of all prompts. A session known only
 * from there is marked (`sessions.prompts_only`), and its rows go when its transcript comes.
 */

import { decodeLine } from "../agents/decode.ts"
import { isDayOfPrompts } from "../util/session-id.ts"
import type { Database } from "./database.ts"
import { IS_TURN } from "./queries/turn-kinds.ts"
import { hasPrompts, type TranscriptRow } from "./transcript-rows.ts"
import { TurnWriter } from "./turn-writer.ts"
import type { WordWriter } from "./word-index.ts"

export class HistoryPrompts {
  readonly #db: Database
  readonly #history: TranscriptRow
  readonly #words: WordWriter
  /** undefined: the session's transcript is archived. */
  readonly #writers = new Map<string, TurnWriter | undefined>()
  /** Prompts of each day, to tell those that name no session. */
  #said: ReadonlySet<string> | undefined

  constructor(db: Database, history: TranscriptRow, words: WordWriter) {
    this.#db = db
    this.#history = history
    this.#words = words
  }

  note(text: string, offset: number): void {
    const record = decodeLine(text)
    const [prompt] = record.parts
    const session = record.sessionId
    if (prompt?.kind !== "prompt" || session === undefined) return
    if (isDayOfPrompts(session) && this.#isSaid(prompt.text, record.timestamp!)) return
    const writer = this.#writerOf(session)
    if (writer === undefined) return
    writer.apply({ record, offset, length: Buffer.byteLength(text) })
    // What others have written about it has no say in what the user's own session is called.
    this.#db
      .query(
        `UPDATE sessions SET prompts_only = 1, title = iif(title_origin = 'other', NULL, title)
         WHERE id = ? AND prompts_only = 0`,
      )
      .run(session)
  }

  /** Call before the history's own row says how far it was followed. */
  finish(done: number): void {
    for (const writer of this.#writers.values()) writer?.finish(done, { lines: 0, rescued: 0 })
    this.#writers.clear()
  }

  #writerOf(session: string): TurnWriter | undefined {
    if (!this.#writers.has(session)) {
      const isArchived = this.#db
        .query<{ copy: string }, [string]>("SELECT copy FROM transcripts WHERE session = ?")
        .all(session)
        .some(({ copy }) => hasPrompts(copy))
      const row = { ...this.#history, session, turn: null }
      this.#writers.set(session, isArchived ? undefined : new TurnWriter(this.#db, row, this.#words))
    }
    return this.#writers.get(session)
  }

  /** Whether a session of that day has the prompt. */
  #isSaid(text: string, time: string): boolean {
    this.#said ??= new Set(
      this.#db
        .query<{ prompt: string; day: string | null }, []>(
          `SELECT t.prompt, substr(t.started, 1, 10) AS day FROM turns t WHERE ${IS_TURN}`,
        )
        .all()
        .map(({ prompt, day }) => `${day} ${prompt.trim()}`),
    )
    return this.#said.has(`${time.slice(0, 10)} ${text}`)
  }
}
