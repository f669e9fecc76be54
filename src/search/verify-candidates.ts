/**
 * Checks phrases, and everything else that the index cannot decide, on the texts of candidates: the best and newest
 * first, and no more of them than a person would wait for.
 *
 * Unpacking is what costs. So the last frames are kept, and equally good candidates come newest first, which keeps
 * those of one transcript together. A line is decoded only when it may match.
 */
import type { Database } from "../archive/database.ts"
import { type MessagePlace, placesOf } from "../archive/queries/messages.ts"
import type { Stretch } from "../vault/reader.ts"
import { fulfils } from "./fts-expression.ts"
import type { MessageTexts } from "./message-text.ts"
import type { Node } from "./parse-query.ts"
import { lineMayFulfil } from "./raw-line.ts"

/**
 * About how many bytes of transcripts are unpacked for one search: once something has matched, and before reporting
 * that nothing does.
 */
const UNPACKED = 12 << 20
const UNPACKED_IN_VAIN = 64 << 20
/** How many frames are kept: sessions archived side by side alternate. */
const HELD = 4
/** This many matches are enough to rank. */
const ENOUGH = 30

const utf8 = new TextDecoder()

/**
 * The candidates that fulfil `must`, as far as they were checked.
 *
 * @param candidates message ids, best first
 */
export function verified(
  db: Database,
  texts: MessageTexts,
  candidates: readonly number[],
  must: Node,
): number[] {
  const mayFulfil = lineMayFulfil(must)
  const kept: number[] = []
  const rows = placesOf(db, candidates)
  const places = new Map<number, MessagePlace>()
  for (let n = 0; n < rows.length; n++) places.set(rows[n]!.id, rows[n]!)
  const held = new Map<string, Stretch>()
  let unpacked = 0
  // For most candidates, nothing written in JavaScript is called: the engine would compile it.
  for (let n = 0; n < candidates.length; n++) {
    if (kept.length >= ENOUGH || unpacked >= (kept.length > 0 ? UNPACKED : UNPACKED_IN_VAIN)) break
    const id = candidates[n]!
    const place = places.get(id)
    if (place === undefined) continue
    const { copy, offset, length } = place
    try {
      let frame = held.get(copy)
      if (frame === undefined || offset < frame.from || offset >= frame.from + frame.content.length) {
        for (const [oldest] of held) {
          if (held.size < HELD) break
          texts.release(oldest)
          held.delete(oldest)
        }
        texts.release(copy)
        frame = texts.reader(copy).stretchAt(offset)
        if (frame === undefined) continue
        held.set(copy, frame)
        unpacked += frame.content.length
      }
      const start = offset - frame.from
      // A line that continues in the next frame is not checked here but once it is decoded.
      const isWhole = start + length <= frame.content.length
      if (isWhole && !mayFulfil(utf8.decode(frame.content.subarray(start, start + length)))) continue
      texts.load([place])
      const subject = texts.of(id)
      if (subject !== undefined && fulfils(must, subject)) kept.push(id)
    } catch {
      // A damaged or missing copy loses only its own texts; `verify` reports it.
    }
  }
  return kept
}
