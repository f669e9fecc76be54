/** A private vault and views of one transcript, as it was at some moment. */
import { writeFileSync } from "node:fs"
import { captureTranscript } from "../../archive/capture-transcript.ts"
import { type Database, openFile } from "../../archive/database.ts"
import { ingest } from "../../archive/ingest.ts"
import { type TranscriptRow, transcriptById } from "../../archive/transcript-rows.ts"
import { WordWriter } from "../../archive/word-index.ts"
import { hitTexts } from "../../search/hit.ts"
import { search } from "../../search/search-turns.ts"
import { join } from "../../util/path.ts"
import { temporaryFolder } from "../../util/temporary.ts"
import { CopyReaders } from "../../vault/reader.ts"

/** How many hits of a search count as seen. */
const FIRST_HITS = 5

export class Views {
  readonly db: Database
  readonly #temporary = temporaryFolder("survive")
  readonly #folder = this.#temporary.path
  readonly dataHome = join(this.#folder, "archive")
  readonly #readers = new CopyReaders()
  readonly #content: Uint8Array
  #row: TranscriptRow

  constructor(session: string, content: Uint8Array) {
    this.#content = content
    const path = join(this.#folder, `${session}.jsonl`)
    writeFileSync(path, content)
    const place = { dataHome: this.dataHome, home: this.#folder }
    const { copy } = captureTranscript(place, path, {
      now: 0,
      deadline: Number.POSITIVE_INFINITY,
      lastLine: "whole",
    })
    this.db = openFile(join(this.#folder, "archive.db"), { wait: 0 })
    const row = this.db
      .query<{ id: number }, [string, string, string, string]>(
        "INSERT INTO transcripts (path, copy, copy_id, session) VALUES (?, ?, ?, ?) RETURNING id",
      )
      .get(path, copy, copy, session)
    this.#row = transcriptById(this.db, row!.id)!
  }

  /** Brings the views up to this byte of the transcript. */
  follow(to: number): void {
    const { indexed } = this.#row
    const words = new WordWriter(this.db)
    this.db
      .transaction(() => {
        ingest(this.db, this.#row, indexed, this.#content.subarray(indexed, to), false, words)
        words.flush()
      })
      .immediate()
    this.#row = transcriptById(this.db, this.#row.id)!
  }

  /** What the first hits of a search show. */
  found(query: string): string {
    if (query.trim() === "") return ""
    const { hits } = search(this.db, this.dataHome, { query, limit: FIRST_HITS }, this.#readers)
    return hits.flatMap(hitTexts).join("\n")
  }

  [Symbol.dispose](): void {
    this.#readers.close()
    this.db.close()
    this.#temporary[Symbol.dispose]()
  }
}
