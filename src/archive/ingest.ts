/**
 * Lines of a transcript → rows of the views.
 *
 * Applying a line twice changes nothing, nor does applying a copy of it made by fork or resume (identity.ts).
 */
import { decodeLine } from "../agents/claude-code/decode.ts"
import type { Database } from "./database.ts"
import type { TranscriptRow } from "./transcript-rows.ts"
import { TurnWriter } from "./turn-writer.ts"
import type { WordWriter } from "./word-index.ts"

const NEWLINE = 0x0a

/**
 * Applies the whole lines of `content` to the views, inside the caller's transaction.
 *
 * @param from offset of the first byte of `content`, where a line begins
 * @param isEnd whether nothing follows `content`; if so, a last line without a newline counts if it is whole JSON
 * @param words flushed by the caller before the transaction ends
 * @param until stops before the next line as soon as it returns true
 * @returns offset up to which lines have been applied
 */
export function ingest(
  db: Database,
  transcript: TranscriptRow,
  from: number,
  content: Uint8Array,
  isEnd: boolean,
  words: WordWriter,
  until: () => boolean = () => false,
): number {
  const text = Buffer.from(content.buffer, content.byteOffset, content.length)
  const writer = new TurnWriter(db, transcript, words)
  let at = 0
  while (at < text.length && !until()) {
    const newline = text.indexOf(NEWLINE, at)
    if (newline < 0) {
      if (!isEnd || !isWholeJson(text.toString("utf8", at))) break
      writer.apply({
        record: decodeLine(text.toString("utf8", at)),
        offset: from + at,
        length: text.length - at,
      })
      at = text.length
      break
    }
    if (newline > at) {
      const line = text.toString("utf8", at, newline)
      writer.apply({ record: decodeLine(line), offset: from + at, length: newline - at })
    }
    at = newline + 1
  }
  writer.finish(from + at)
  return from + at
}

function isWholeJson(line: string): boolean {
  if (!line.startsWith("{")) return false
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}
