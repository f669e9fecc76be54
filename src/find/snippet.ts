/** Cuts out the piece of a text that shows why it was found. Pure. */
import { type FoundName, nameAround, namesIn, shorterStems } from "../base/words.ts"
import { isAscii, type Term } from "./parse-query.ts"

export interface Snippet {
  readonly text: string
  /** Start and end of each sought word, in UTF-16 units of `text`. */
  readonly marks: readonly (readonly [from: number, to: number])[]
}

export interface Sought {
  /** Weight of each word, keyed by its stem. */
  readonly words: ReadonlyMap<string, number>
  readonly prefixes: readonly string[]
  /** The same in lower case as they were typed, where that is not ASCII: a text may have the accents, stems do not. */
  readonly typed?: readonly string[]
}

/** What of these terms is sought in texts. Without a weight of its own, each counts 1. */
export function soughtBy(terms: readonly (Term & { readonly weight?: number })[]): Sought {
  const words = new Map<string, number>()
  const prefixes: string[] = []
  const others = new Set<string>()
  for (const { word, isPrefix, typed, weight = 1 } of terms) {
    if (!isAscii(typed)) others.add(typed.toLowerCase())
    if (!isPrefix) words.set(word, weight)
    else {
      prefixes.push(word)
      for (const stem of shorterStems(word)) words.set(stem, weight)
    }
  }
  return { words, prefixes, typed: [...others] }
}

/** How much earlier a piece may begin, to start at a line or sentence. */
const LEAD = 60
const MOST_PLACES = 600
/** How many are examined, including ones inside other words: a single letter is everywhere in encoded data. */
const MOST_LOOKS = 4 * MOST_PLACES
/**
 * UTF-16 units that are read word by word when no word is found as it was sought, because of accents or other forms.
 */
const READ_THROUGH = 20_000

/** @param room UTF-16 units of the piece, including its ellipses */
export function snippetOf(text: string, sought: Sought, room: number): Snippet {
  const places = placesIn(text, sought)
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

export interface WordPlace {
  readonly at: number
  readonly length: number
  /** Which of the sought words are here, one bit each. */
  readonly words: number
  readonly weight: number
}

export function placesIn(text: string, sought: Sought): WordPlace[] {
  if (sought.words.size + sought.prefixes.length === 0) return []
  const places = quickPlacesOf(text, sought)
  if (places.length > 0) return places
  return namesIn(text.slice(0, READ_THROUGH)).flatMap((name) => placeOf(name, sought) ?? [])
}

/**
 * Places where a word begins as it was sought. Uses no regular expression: compiling one takes longer than looking for
 * each word.
 */
export function quickPlacesOf(text: string, sought: Sought): WordPlace[] {
  const lower = text.toLowerCase()
  // Lower-casing changed the length, so positions no longer match.
  if (lower.length !== text.length) return []
  const needles = [...sought.words.keys(), ...sought.prefixes, ...(sought.typed ?? [])]
  const next = needles.map((needle) => placeAfter(lower, needle, 0))
  const places: WordPlace[] = []
  for (let looks = 0; looks < MOST_LOOKS && places.length < MOST_PLACES; looks++) {
    const at = Math.min(...next)
    if (at === NOWHERE) break
    const name = nameAround(text, at)
    const place = name && placeOf(name, sought)
    if (place !== undefined) places.push(place)
    const end = name === undefined ? at + 1 : name.at + name.length
    for (let n = 0; n < needles.length; n++) {
      if (next[n]! < end) next[n] = placeAfter(lower, needles[n]!, end)
    }
  }
  return places
}

const NOWHERE = Number.POSITIVE_INFINITY

/** A final `i` in a stem may stand for `y`. */
function placeAfter(text: string, word: string, from: number): number {
  if (word.length < 3 || !word.endsWith("i")) {
    const at = text.indexOf(word, from)
    return at < 0 ? NOWHERE : at
  }
  const stem = word.slice(0, -1)
  for (let at = text.indexOf(stem, from); at >= 0; at = text.indexOf(stem, at + 1)) {
    const last = text[at + stem.length]
    if (last === "i" || last === "y") return at
  }
  return NOWHERE
}

function placeOf(
  { words: found, at, length }: FoundName,
  { words, prefixes }: Sought,
): WordPlace | undefined {
  let weight = Number.NEGATIVE_INFINITY
  let bits = 0
  let bit = 1
  for (const [word, own] of words) {
    if (found.includes(word)) {
      bits |= bit
      if (own > weight) weight = own
    }
    // Beyond 32 words, some share a bit.
    bit = bit << 1 || 1
  }
  for (const prefix of prefixes) {
    if (found.some((word) => word.startsWith(prefix))) {
      bits |= bit
      weight = Math.max(weight, 1)
    }
    bit = bit << 1 || 1
  }
  return bits === 0 ? undefined : { at, length, words: bits, weight }
}

/** Start of the piece with the greatest weight of different words. */
export const beginning = (text: string, places: readonly WordPlace[], room: number): number =>
  leadIn(text, densest(places, room).at)

/** Where, within so many UTF-16 units, the places have the greatest weight of different words together. */
export function densest(places: readonly WordPlace[], room: number): { at: number; weight: number } {
  let best = 0
  let bestWeight = -1
  for (let first = 0; first < places.length; first++) {
    const start = places[first]!.at
    let seen = 0
    let weight = 0
    for (let n = first; n < places.length; n++) {
      const place = places[n]!
      if (place.at + place.length > start + room - LEAD) break
      // A repeated word adds only a little.
      weight += (place.words & ~seen) === 0 ? place.weight / 20 : place.weight
      seen |= place.words
    }
    if (weight > bestWeight) {
      best = start
      bestWeight = weight
    }
  }
  return { at: best, weight: Math.max(bestWeight, 0) }
}

function leadIn(text: string, at: number): number {
  if (at <= LEAD) return 0
  const before = text.slice(at - LEAD, at)
  const start = Math.max(before.lastIndexOf("\n"), lastSentence(before), -1) + 1
  if (start > 0) return at - LEAD + start
  for (let n = 0; n < LEAD; n++) if (isSpace(before[n]!)) return at - LEAD + n + 1
  return at
}

const isSpace = (unit: string): boolean => unit.trim() === ""

function lastSentence(text: string): number {
  for (let n = text.length - 2; n >= 0; n--)
    if (".!?。".includes(text[n]!) && isSpace(text[n + 1]!)) return n + 1
  return -1
}

/** Moves the end so that no word, and no surrogate pair, is cut in half. */
export function ending(text: string, from: number, at: number): number {
  const start = Math.max(from, at - 20)
  for (let n = at - 1; n > start; n--) if (isSpace(text[n]!)) return n
  const unit = text.charCodeAt(at - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at
}
