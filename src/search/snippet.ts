/** The piece of a text that shows why it was found. Pure. */
import { type Name, nameAround, namesIn } from "../util/words.ts"

export interface Snippet {
  readonly text: string
  /** Beginning and end of each word that was searched, in UTF-16 units of `text`. */
  readonly marks: readonly (readonly [from: number, to: number])[]
}

export interface Sought {
  /** Weight of each word, by its stem. */
  readonly words: ReadonlyMap<string, number>
  readonly prefixes: readonly string[]
}

/** Where a piece may begin earlier, to begin with a line or sentence. */
const LEAD = 60
/** Places of sought words that are looked at. */
const MOST_PLACES = 600
/** UTF-16 units that are read word by word where nothing stands as it was sought: accents, other forms. */
const READ_THROUGH = 20_000

/** @param room UTF-16 units of the piece, with its ellipses */
export function snippetOf(text: string, sought: Sought, room: number): Snippet {
  const places = placesOf(text, sought)
  const from = text.length <= room ? 0 : beginning(text, places, room)
  const head = from > 0 ? "…" : ""
  const fits = text.length - from + head.length <= room
  const end = fits ? text.length : ending(text, from, from + room - head.length - 1)
  const shift = head.length - from
  return {
    text: head + text.slice(from, end).replace(/\s/g, " ") + (end < text.length ? "…" : ""),
    marks: places
      .filter(({ at, length }) => at >= from && at + length <= end)
      .map(({ at, length }) => [at + shift, at + length + shift] as const),
  }
}

interface Place {
  readonly at: number
  readonly length: number
  readonly words: readonly string[]
  readonly weight: number
}

function placesOf(text: string, sought: Sought): Place[] {
  const places: Place[] = []
  let end = 0
  const pattern = patternOf(sought)
  if (pattern === undefined) return []
  for (const { index } of text.matchAll(pattern)) {
    if (index < end) continue
    const name = nameAround(text, index)
    if (name === undefined) continue
    end = name.at + name.length
    const place = placeOf(name, sought)
    if (place !== undefined) places.push(place)
    if (places.length >= MOST_PLACES) break
  }
  if (places.length > 0) return places
  return [...namesIn(text.slice(0, READ_THROUGH))].flatMap((name) => placeOf(name, sought) ?? [])
}

function placeOf({ words: found, at, length }: Name, { words, prefixes }: Sought): Place | undefined {
  const hit = found.filter((word) => words.has(word))
  const begun = prefixes.filter((prefix) => found.some((word) => word.startsWith(prefix)))
  if (hit.length === 0 && begun.length === 0) return undefined
  const weight = Math.max(...hit.map((word) => words.get(word)!), ...begun.map(() => 1))
  return { at, length, words: [...hit, ...begun.map((prefix) => `${prefix}*`)], weight }
}

/** Finds whatever may be one of the words: a stem's last letter may stand for another. */
function patternOf({ words, prefixes }: Sought): RegExp | undefined {
  const stems = [...words.keys()].map((word) => word.replace(/i$/, "[iy]"))
  const all = [...stems, ...prefixes]
  return all.length === 0 ? undefined : new RegExp(all.join("|"), "gi")
}

/** Where the piece with the most weight of different words begins. */
function beginning(text: string, places: readonly Place[], room: number): number {
  let best = 0
  let bestWeight = -1
  for (const [first, { at: start }] of places.entries()) {
    const seen = new Set<string>()
    let weight = 0
    for (let n = first; n < places.length; n++) {
      const place = places[n]!
      if (place.at + place.length > start + room - LEAD) break
      // The same word again shows a little more of it.
      weight += place.words.every((word) => seen.has(word)) ? place.weight / 20 : place.weight
      for (const word of place.words) seen.add(word)
    }
    if (weight > bestWeight) {
      best = start
      bestWeight = weight
    }
  }
  return leadIn(text, best)
}

/** The beginning of the line or sentence, or of a word. */
function leadIn(text: string, at: number): number {
  if (at <= LEAD) return 0
  const before = text.slice(at - LEAD, at)
  const start = Math.max(before.lastIndexOf("\n"), lastSentence(before), -1) + 1
  if (start > 0) return at - LEAD + start
  const space = before.search(/\s/)
  return space < 0 ? at : at - LEAD + space + 1
}

function lastSentence(text: string): number {
  const match = [...text.matchAll(/[.!?。](?=\s)/g)].at(-1)
  return match === undefined ? -1 : match.index + 1
}

/** No half word and no half surrogate pair. */
function ending(text: string, from: number, at: number): number {
  const last = text.slice(Math.max(from, at - 20), at)
  const space = last.search(/\s\S*$/)
  if (space > 0) return at - last.length + space
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at
}
