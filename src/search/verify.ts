/**
 * Phrases, and all else that the index cannot decide: the texts of candidates are looked at, the best and newest
 * first, and no more of them than a person waits for.
 *
 * What costs is unpacking. So what stands in one frame of a copy is looked at together, and a line is decoded only
 * when it may hold what is required.
 */
import type { Database } from "../archive/database.ts"
import { fulfils } from "./expression.ts"
import type { MessageTexts } from "./message-text.ts"
import type { Node } from "./query.ts"
import { lineMayFulfil } from "./raw-line.ts"

/** Bytes of transcripts that are unpacked for one search, about. */
const UNPACKED = 10 << 20
/** So many that fulfil it are enough to rank. */
const ENOUGH = 30

interface Place {
  readonly id: number
  readonly copy: string
  readonly offset: number
  readonly length: number
}

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
  enough: number = ENOUGH,
): number[] {
  const mayFulfil = lineMayFulfil(must)
  const kept: number[] = []
  const done = new Set<number>()
  const places = placesOf(db, candidates)
  let unpacked = 0
  for (const id of candidates) {
    if (kept.length >= enough || unpacked >= UNPACKED) break
    const place = places.get(id)
    if (place === undefined || done.has(id)) continue
    done.add(id)
    try {
      const reader = texts.reader(place.copy)
      const frame = reader.stretchAt(place.offset)
      if (frame === undefined) continue
      unpacked += frame.to - frame.from
      for (const one of places.in(place.copy, frame)) {
        done.add(one.id)
        if (!mayFulfil(utf8.decode(reader.read(one.offset, one.offset + one.length)))) continue
        const subject = texts.of(one.id)
        if (subject !== undefined && fulfils(must, subject)) kept.push(one.id)
      }
    } catch {
      // A damaged or missing copy costs its own texts only; `verify` tells of it.
    }
  }
  return kept
}

function placesOf(db: Database, ids: readonly number[]) {
  const rows = db
    .query<Place, [string]>(
      `SELECT m.id, t.copy, m.offset, m.length FROM messages m JOIN transcripts t ON t.id = m.transcript
       WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id`,
    )
    .all(JSON.stringify(ids))
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byCopy = new Map<string, Place[]>()
  for (const row of rows) {
    const known = byCopy.get(row.copy)
    if (known === undefined) byCopy.set(row.copy, [row])
    else known.push(row)
  }
  return {
    get: (id: number) => byId.get(id),
    in: (copy: string, { from, to }: { readonly from: number; readonly to: number }) =>
      byCopy.get(copy)!.filter(({ offset }) => offset >= from && offset < to),
  }
}
