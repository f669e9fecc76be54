/** Tokens of the API's messages → rows of the views. */
import type { TranscriptRecord, Usage } from "../record/types.ts"
import type { Database } from "./database.ts"

export class UsageRows {
  readonly #db: Database
  readonly #session: string
  #last:
    | {
        readonly usage: Usage
        readonly turn: number
        readonly sidechain: boolean
        readonly time: string | undefined
      }
    | undefined

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
  }

  /** Every line of a message repeats the counts; they are written once. */
  note({ usage, sidechain, timestamp: time }: TranscriptRecord, turn: number): void {
    if (usage === undefined) return
    const seen = this.#last
    if (seen?.usage.messageId === usage.messageId) {
      this.#last = { ...seen, usage: { ...usage, output: Math.max(usage.output, seen.usage.output) } }
      return
    }
    this.flush()
    this.#last = { usage, turn, sidechain, time }
  }

  flush(): void {
    if (this.#last === undefined) return
    const { usage, turn, sidechain, time } = this.#last
    this.#last = undefined
    this.#db
      .query(
        `INSERT INTO usage (session, message, turn, model, input, output, cache_creation, cache_read, sidechain,
             cache_hour, time)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           model = excluded.model, input = excluded.input, output = max(output, excluded.output),
           cache_creation = excluded.cache_creation, cache_read = excluded.cache_read,
           cache_hour = excluded.cache_hour`,
      )
      .run(
        this.#session,
        usage.messageId,
        turn,
        usage.model,
        usage.input,
        usage.output,
        usage.cacheCreation,
        usage.cacheRead,
        sidechain ? 1 : 0,
        usage.cacheHour,
        time ?? null,
      )
  }
}
