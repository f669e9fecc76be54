/**
 * Lines of a transcript → rows of the views.
 *
 * Applying a line twice changes nothing, nor does applying a copy of it made by fork or resume (identity.ts).
 */
import { decodeLine, innerRecords, recordsIn } from "../agents/agents.ts"
import { parseJson } from "../base/json-files.ts"
import { isDayOfPrompts } from "../base/session-id.ts"
import { wordSet } from "../base/words.ts"
import { turnAndTaskLines } from "../claude/glance.ts"
import { isObject } from "../record/json.ts"
import { NEWLINE } from "../record/lines-with.ts"
import { type Observed, summaryLineOf } from "../record/model-summary.ts"
import { wholeRecordsIn } from "../record/whole-records.ts"
import { FILLER } from "../secrets/fill.ts"
import { isBesideCopy, isHistoryCopy, isSummaryCopy } from "../vault/layout.ts"
import { BesideRows } from "./beside-rows.ts"
import type { Database } from "./database.ts"
import { IS_TURN } from "./queries/turns.ts"
import { hasPrompts, type TranscriptRow } from "./transcript-rows.ts"
import { TurnWriter } from "./turn-writer.ts"
import type { WordWriter } from "./word-index.ts"

/** Applies a transcript's lines, inside the caller's transaction. What many lines have in common is written at its end. */
export class Ingestion {
  readonly #writer: TurnWriter
  /** What takes the lines instead if they are not Claude Code's. */
  readonly #own: ((line: string, offset: number) => void) | undefined
  /** The same for a file beside a transcript. */
  readonly #beside: BesideRows | undefined
  readonly #prompts: HistoryPrompts | undefined
  /** Offset up to which lines have been applied. */
  #done: number
  #damaged = { lines: 0, rescued: 0 }

  /**
   * @param from offset at which the first line begins
   * @param words flushed by the caller before the transaction ends
   * @param dataHome whose vault has the lines that were applied before
   */
  constructor(db: Database, transcript: TranscriptRow, from: number, words: WordWriter, dataHome: string) {
    this.#writer = new TurnWriter(db, transcript, words, dataHome)
    this.#done = from
    if (isBesideCopy(transcript.copy)) this.#beside = new BesideRows(db, transcript, words)
    if (isSummaryCopy(transcript.copy))
      this.#own = (line, offset) => noteSummary(db, transcript, line, offset)
    if (isHistoryCopy(transcript.copy)) {
      const prompts = new HistoryPrompts(db, transcript, words, dataHome)
      this.#prompts = prompts
      this.#own = (line, offset) => prompts.note(line, offset)
    }
  }

  /**
   * Applies the whole lines of `content`.
   *
   * @param from offset of the first byte of `content`, where a line begins
   * @param isEnd whether nothing follows `content`; if so, a last line without a newline counts if it is whole JSON
   * @param until called with the offset up to which lines have been applied; stops before the next line if it returns true
   * @returns offset up to which lines have been applied
   */
  apply(from: number, content: Uint8Array, isEnd: boolean, until: (done: number) => boolean): number {
    const text = Buffer.from(content.buffer, content.byteOffset, content.length)
    let at = 0
    while (at < text.length && !until(from + at)) {
      const newline = text.indexOf(NEWLINE, at)
      if (newline < 0 && !isEnd) break
      const end = newline < 0 ? at + this.#lengthOfLast(text.subarray(at)) : newline
      if (newline < 0 && end === at) break
      if (this.#beside !== undefined) this.#beside.add(text.toString("utf8", at, end), from + at, from + end)
      else if (end > at && this.#own !== undefined) this.#own(text.toString("utf8", at, end), from + at)
      else if (end > at) this.#line(text, at, end, from + at)
      at = newline < 0 ? end : end + 1
      this.#done = from + at
    }
    return from + at
  }

  /** Bytes of a line that nothing has ended yet, as far as it can be taken; 0: not at all. */
  #lengthOfLast(line: Buffer): number {
    return this.#beside === undefined ? lengthOfWhole(line) : line.length
  }

  #line(text: Buffer, from: number, to: number, offset: number): void {
    const record = decodeLine(text.toString("utf8", from, to))
    if (record.type !== "malformed") {
      this.#writer.apply({ record, offset, length: to - from })
      if (record.inner !== undefined)
        for (const one of innerRecords(record, text.subarray(from, to)))
          this.#writer.apply({ record: one.record, offset: offset + one.from, length: one.to - one.from })
      return
    }
    const line = text.subarray(from, to)
    // A line that was forgotten is filler throughout.
    if (line[0] !== FILLER) this.#damaged.lines++
    for (const one of recordsIn(line)) {
      if (one.record.type !== "malformed") this.#damaged.rescued++
      this.#writer.apply({ record: one.record, offset: offset + one.from, length: one.to - one.from })
    }
  }

  /**
   * Applies only what lines say of turns and tasks.
   *
   * @param from offset of the first byte of `content`, where a line begins
   * @returns false if time ran out first
   */
  skim(from: number, content: Uint8Array, until: () => boolean): boolean {
    const text = Buffer.from(content.buffer, content.byteOffset, content.length)
    for (const { from: at, to, isSaid } of turnAndTaskLines(text)) {
      if (until()) return false
      if (isSaid) this.#line(text, at, to - 1, from + at)
      else this.#writer.skim(decodeLine(text.toString("utf8", at, to - 1)))
    }
    return true
  }

  /** Leaves out a line up to this offset. */
  passOver(to: number): number {
    this.#done = to
    return to
  }

  /** Call before the transaction ends, even if a line could not be applied. */
  finish(): void {
    this.#beside?.flush()
    this.#prompts?.finish(this.#done)
    this.#writer.finish(this.#done, this.#damaged)
    this.#damaged = { lines: 0, rescued: 0 }
  }
}

/** The same for one piece of a transcript. */
export function ingest(
  db: Database,
  transcript: TranscriptRow,
  from: number,
  content: Uint8Array,
  isEnd: boolean,
  words: WordWriter,
  dataHome: string,
): number {
  const lines = new Ingestion(db, transcript, from, words, dataHome)
  const done = lines.apply(from, content, isEnd, () => false)
  lines.finish()
  return done
}

/** Bytes up to the end of the last whole record in a line that nothing has ended yet; 0: there is none. */
function lengthOfWhole(line: Buffer): number {
  if (line[0] === FILLER) return 0
  const isWhole = isObject(parseJson(line.toString("utf8")))
  return isWhole ? line.length : (wholeRecordsIn(line).at(-1)?.to ?? 0)
}

/* A line that a model wrote about a session → rows of the views. */

/** As long as a turn's handle at its shortest would collide once in some thousand. */
const HANDLE_LENGTH = 9

/**
 * A line that is not one, as after `forget --text`, is passed over, and one about another session than its copy: it would
 * stay when that session is forgotten.
 */
export function noteSummary(
  db: Database,
  { id: transcript, session: name }: Pick<TranscriptRow, "id" | "session">,
  text: string,
  offset: number,
): void {
  const line = summaryLineOf(text)
  if (line === undefined || line.session !== name.split("/", 1)[0]) return
  const { session, timestamp, model, seq, last, cost, summary } = line
  if (line.anew) db.query("DELETE FROM observations WHERE session = ?").run(session)
  db.query("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
    transcript,
    offset,
    session,
    timestamp,
    model,
    seq,
    last,
    cost,
    JSON.stringify(summary),
  )
  for (const [n, observation] of line.observations.entries())
    noteObservation(db, { transcript, session, time: line.ended, model }, observation, `${line.uuid} ${n}`)
}

interface Place {
  readonly transcript: number
  readonly session: string
  readonly time: string
  readonly model: string
}

function noteObservation(
  db: Database,
  { transcript, session, time, model }: Place,
  { type, title, ...fields }: Observed,
  name: string,
): void {
  const handle = Bun.hash.xxHash64(name, 0n).toString(36).padStart(HANDLE_LENGTH, "0").slice(-HANDLE_LENGTH)
  const { changes, lastInsertRowid } = db
    .query(
      `INSERT INTO observations (handle, transcript, session, time, model, type, title, fields)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    )
    .run(handle, transcript, session, time, model, type, title, JSON.stringify(fields))
  // The same line once more, as another machine's copy of ours.
  if (changes === 0) return
  const words = [title, fields.narrative, ...fields.facts, ...fields.files].join("\n")
  db.query("INSERT INTO observation_words (rowid, text) VALUES (?, ?)").run(
    lastInsertRowid,
    [...wordSet(words)].join(" "),
  )
}

/*
 * Prompts of sessions whose transcripts are not archived, from Claude Code's list of all prompts. A session known only
 * from there is marked (`sessions.prompts_only`), and its rows go when its transcript comes.
 */

class HistoryPrompts {
  readonly #db: Database
  readonly #history: TranscriptRow
  readonly #dataHome: string
  readonly #words: WordWriter
  /** undefined: the session's transcript is archived. */
  readonly #writers = new Map<string, TurnWriter | undefined>()
  /** Prompts of each day, to tell those that name no session. */
  #said: ReadonlySet<string> | undefined

  constructor(db: Database, history: TranscriptRow, words: WordWriter, dataHome: string) {
    this.#db = db
    this.#history = history
    this.#dataHome = dataHome
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
      this.#writers.set(
        session,
        isArchived ? undefined : new TurnWriter(this.#db, row, this.#words, this.#dataHome),
      )
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
