/**
 * Lines of a transcript → rows of the views.
 *
 * Applying a line twice changes nothing, nor does applying a copy of it made by fork or resume (identity.ts).
 */
import { decodeLine, recordsIn } from "../agents/decode.ts"
import { FILLER } from "../secrets/fill.ts"
import { isObject } from "../transcript/json.ts"
import { wholeRecordsIn } from "../transcript/whole-records.ts"
import { NEWLINE } from "../util/byte-lines.ts"
import { parseJson } from "../util/json-files.ts"
import { isBesideCopy, isHistoryCopy, isSummaryCopy } from "../vault/layout.ts"
import { BesideRows } from "./beside-rows.ts"
import type { Database } from "./database.ts"
import { HistoryPrompts } from "./history-prompts.ts"
import { noteSummary } from "./summary-rows.ts"
import type { TranscriptRow } from "./transcript-rows.ts"
import { TurnWriter } from "./turn-writer.ts"
import type { WordWriter } from "./word-index.ts"

/** Applies a transcript's lines, inside the caller's transaction. What many lines have in common is written at its end. */
export class Ingestion {
  readonly #writer: TurnWriter
  /** What takes the lines instead if they are not the host's. */
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
   */
  constructor(db: Database, transcript: TranscriptRow, from: number, words: WordWriter) {
    this.#writer = new TurnWriter(db, transcript, words)
    this.#done = from
    if (isBesideCopy(transcript.copy)) this.#beside = new BesideRows(db, transcript, words)
    if (isSummaryCopy(transcript.copy))
      this.#own = (line, offset) => noteSummary(db, transcript, line, offset)
    if (isHistoryCopy(transcript.copy)) {
      const prompts = new HistoryPrompts(db, transcript, words)
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
): number {
  const lines = new Ingestion(db, transcript, from, words)
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
