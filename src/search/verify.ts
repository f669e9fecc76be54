/**
 * Phrases, and all else that the index cannot decide: the texts of candidates are looked at, the best and newest
 * first, and no more of them than a person waits for.
 *
 * What costs is unpacking: the last frames are kept, and among equals the newest come in the order of their
 * transcripts. A line is decoded only when it may hold what is required.
 */
import type { Database } from "../archive/database.ts"
import type { Stretch } from "../vault/reader.ts"
import { fulfils } from "./expression.ts"
import type { MessageTexts, Place } from "./message-text.ts"
import type { Node } from "./query.ts"
import { lineMayFulfil } from "./raw-line.ts"

/** Bytes of transcripts that are unpacked for one search, about; and before anybody is told that there is none. */
const UNPACKED = 12 << 20
const UNPACKED_IN_VAIN = 64 << 20
/** Frames that are kept: sessions that were archived side by side come by turns. */
const HELD = 4
/** So many that fulfil it are enough to rank. */
const ENOUGH = 30

const utf8 = new TextDecoder()

/**
 * Those that fulfil what is required, as far as they were looked at.
 *
 * @param candidates ids of messages, the best first
 */
export function verified(
  db: Database,
  texts: MessageTexts,
  candidates: readonly number[],
  must: Node,
): number[] {
  const mayFulfil = lineMayFulfil(must)
  const kept: number[] = []
  const places = placesOf(db, candidates)
  /** The last frames, each of another copy. */
  const held = new Map<string, Stretch>()
  let unpacked = 0
  // Of most candidates nothing is called that is written in JavaScript: the engine would compile it.
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
      // A line that goes on in the next frame is looked at by whoever decodes it.
      const isWhole = start + length <= frame.content.length
      if (isWhole && !mayFulfil(utf8.decode(frame.content.subarray(start, start + length)))) continue
      texts.load([place])
      const subject = texts.of(id)
      if (subject !== undefined && fulfils(must, subject)) kept.push(id)
    } catch {
      // A damaged or missing copy costs its own texts only; `verify` tells of it.
    }
  }
  return kept
}

function placesOf(db: Database, ids: readonly number[]): Map<number, Place> {
  const rows = db
    .query<Place, [string]>(
      `SELECT m.id, t.copy, m.offset, m.length, m.role, m.session
       FROM messages m JOIN transcripts t ON t.id = m.transcript
       WHERE m.id IN (SELECT value FROM json_each(?))`,
    )
    .all(JSON.stringify(ids))
  const places = new Map<number, Place>()
  for (let n = 0; n < rows.length; n++) places.set(rows[n]!.id, rows[n]!)
  return places
}
