/** Tokens of the API's messages → rows of the views. */
import type { TranscriptRecord, Usage } from "../transcript/types.ts"
import type { Database } from "./database.ts"

export class UsageRows {
  readonly #db: Database
  readonly #session: string
  #last: { readonly usage: Usage; readonly turn: number; readonly sidechain: boolean } | undefined

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
  }

  /** Every line of a message repeats the counts; they are written once. */
  note({ usage, sidechain }: TranscriptRecord, turn: number): void {
    if (usage === undefined) return
    const seen = this.#last
    if (seen?.usage.messageId === usage.messageId) {
      this.#last = { ...seen, usage: { ...usage, output: Math.max(usage.output, seen.usage.output) } }
      return
    }
    this.flush()
    this.#last = { usage, turn, sidechain }
  }

  flush(): void {
    if (this.#last === undefined) return
    const { usage, turn, sidechain } = this.#last
    this.#last = undefined
    this.#db
      .query(
        `INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           model = excluded.model, input = excluded.input, output = max(output, excluded.output),
           cache_creation = excluded.cache_creation, cache_read = excluded.cache_read`,
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
      )
  }
}
