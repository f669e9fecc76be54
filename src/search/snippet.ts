/** The piece of a text that shows why it was found. Pure. */
import { namesIn } from "../util/words.ts"

export interface Snippet {
  readonly text: string
  /** Beginning and end of each word that was searched, in UTF-16 units of `text`. */
  readonly marks: readonly (readonly [from: number, to: number])[]
}

/** UTF-16 units of a text that are looked through for the best piece. */
const LOOKED_AT = 200_000
/** Where a piece may begin earlier, to begin with a line or sentence. */
const LEAD = 60

export interface Sought {
  /** Weight of each word, by its stem. */
  readonly words: ReadonlyMap<string, number>
  readonly prefixes: readonly string[]
}

/** @param room UTF-16 units of the piece, with its ellipses */
export function snippetOf(text: string, sought: Sought, room: number): Snippet {
  const places = placesOf(text.slice(0, LOOKED_AT), sought)
  const from = text.length <= room ? 0 : beginning(text, places, room)
  const head = from > 0 ? "…" : ""
  const end =
    text.length - from + head.length <= room ? text.length : ending(text, from + room - head.length - 1)
  const tail = end < text.length ? "…" : ""
  const marks = places
    .filter(({ at, length }) => at >= from && at + length <= end)
    .map(({ at, length }) => [at - from + head.length, at + length - from + head.length] as const)
  return { text: head + text.slice(from, end).replace(/\s/g, " ") + tail, marks }
}

interface Place {
  readonly at: number
  readonly length: number
  readonly words: readonly string[]
  readonly weight: number
}

function placesOf(text: string, { words, prefixes }: Sought): Place[] {
  const places: Place[] = []
  for (const { words: found, at, length } of namesIn(text)) {
    const hit = found.filter((word) => words.has(word))
    const begins = prefixes.filter((prefix) => found.some((word) => word.startsWith(prefix)))
    if (hit.length === 0 && begins.length === 0) continue
    const weight = Math.max(...hit.map((word) => words.get(word)!), ...begins.map(() => 1))
    places.push({ at, length, words: [...hit, ...begins.map((prefix) => `${prefix}*`)], weight })
  }
  return places
}

/** Where the piece with the most weight of different words begins. */
function beginning(text: string, places: readonly Place[], room: number): number {
  let best = 0
  let bestWeight = -1
  for (let first = 0; first < places.length && first < MOST_PLACES; first++) {
    const start = places[first]!.at
    const seen = new Set<string>()
    let weight = 0
    for (let n = first; n < places.length && places[n]!.at + places[n]!.length <= start + room - LEAD; n++) {
      const place = places[n]!
      if (place.words.every((word) => seen.has(word))) weight += place.weight / 20
      else weight += place.weight
      for (const word of place.words) seen.add(word)
    }
    if (weight > bestWeight) [best, bestWeight] = [start, weight]
  }
  return leadIn(text, best)
}

const MOST_PLACES = 500

/** The beginning of the line or sentence, or of a word. */
function leadIn(text: string, at: number): number {
  if (at <= LEAD) return 0
  const before = text.slice(at - LEAD, at)
  const line = Math.max(before.lastIndexOf("\n"), lastSentence(before))
  if (line >= 0) return at - LEAD + line + 1
  const space = before.search(/\s/)
  return space < 0 ? at : at - LEAD + space + 1
}

function lastSentence(text: string): number {
  const match = [...text.matchAll(/[.!?。](?=\s)/g)].at(-1)
  return match === undefined ? -1 : match.index + 1
}

/** No half word and no half surrogate pair. */
function ending(text: string, at: number): number {
  const space = text.slice(Math.max(0, at - 20), at).search(/\s\S*$/)
  if (space > 0) return at - Math.min(20, at) + space
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at
}
