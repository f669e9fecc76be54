/**
 * The search index of a folder of pages: what its files hold, and how turns are found and ranked in them. The folder is
 * written with it, and the script of the page of sessions reads it with the same (html/search.js). Pure.
 *
 * A browser that has opened a page from a file may load scripts beside it and nothing else, so each file is a call with
 * one list of JSON. Words are in order, some to a file; which turns have a word is a row of small numbers. The texts of
 * a session are a file of their own, which is only loaded to show its hits.
 */
import { isHalfPair, namesIn, shorterStems, splitPrefix } from "../../base/words.ts"

/** What is searched of a turn, as numbers in the texts' files; a bit each in the words', where a file is a command. */
export const TEXT_KINDS = ["prompt", "answer", "command", "error", "file"] as const

/** How much a word counts there. */
const WEIGHTS = [1, 0.75, 0.5, 0.8, 0.5] as const
const ALSO = 0.15

/** A turn's texts: handle, number, when it began, then a kind and a text, as often as there are any. */
export type TurnTexts = readonly [handle: string, seq: number, time: string | null, ...(number | string)[]]

/** What a segment consists of: texts' files with their numbers of turns, how long turns are, each shard's first word. */
export type Catalogue = readonly [
  files: readonly (string | number)[],
  lengths: string,
  first: readonly string[],
]

/** Words, parted by spaces, and for each the turns that have it. */
export type WordShard = readonly [words: string, turns: string]

/** The file that names the index's segments, those first that count: a list may be older than they are. */
export const SEGMENTS = "c-now"

/** By this a shard's script hands over what it holds. */
export const LOADER = "ctxbridge"

/** A script that is nothing but a list. Lists and texts alone: an object's key could be `__proto__`. */
export const dataScript = (name: string, list: readonly unknown[]): string =>
  `${LOADER}(${inScript(name)},${inScript(list)})\n`

/** What could end a script, or a line in old browsers, is written otherwise. */
const inScript = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<\u2028\u2029]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

export const listInScript = (script: string): unknown =>
  JSON.parse(script.slice(script.indexOf(",") + 1, script.lastIndexOf(")")))

/* Small numbers as letters: five bits each, and one that says whether more follow. */

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
const MORE = 32

/** A turn's number in its segment, and in which kinds of its texts the word is. */
interface Posting {
  readonly turn: number
  readonly kinds: number
}

/** @param postings numbers of turns times 16, plus kinds; ascending */
export function packed(postings: readonly number[]): string {
  let text = ""
  let before = 0
  for (const posting of postings) {
    const turn = posting >> 4
    let rest = ((turn - before) << 4) | (posting & 15)
    before = turn
    while (rest >= MORE) {
      text += LETTERS[(rest % MORE) + MORE]
      rest = Math.floor(rest / MORE)
    }
    text += LETTERS[rest]
  }
  return text
}

function unpacked(text: string): Posting[] {
  const found: Posting[] = []
  let turn = 0
  for (let at = 0; at < text.length; ) {
    let value = 0
    for (let shift = 1; ; shift *= MORE) {
      const five = LETTERS.indexOf(text[at++] ?? "A")
      value += (five % MORE) * shift
      if (five < MORE) break
    }
    turn += value >> 4
    found.push({ turn, kinds: value & 15 })
  }
  return found
}

/** How long a turn is, as a letter: its words, by steps of a quarter of an octave. */
export const lengthLetter = (words: number): string =>
  LETTERS[Math.min(63, Math.floor(Math.log2(words + 1) * 4))]!
const lengthOf = (letter: string): number => 2 ** (LETTERS.indexOf(letter) / 4)

/* What is asked. */

interface Query {
  /** Each must be in the turn. */
  readonly words: readonly string[]
  /** How a word of the turn begins; empty: none is being typed. */
  readonly prefix: string
  /** In quotes: as they are written, in upper or lower case. */
  readonly phrases: readonly string[]
}

/** @param text as it was typed: the last word may be a beginning */
export function askedOf(text: string): Query {
  const phrases: string[] = []
  const rest = text.replace(/"([^"]*)("|$)/g, (_, phrase: string) => {
    if (/\S/.test(phrase)) phrases.push(flat(phrase))
    return " "
  })
  const [before, prefix] = splitPrefix(rest)
  const words = new Set([before, ...phrases].flatMap(partsIn))
  // One letter begins too many words.
  if (prefix.length === 1 && !isHalfPair(prefix)) for (const word of partsIn(prefix)) words.add(word)
  return { words: [...words], prefix: prefix.length === 1 && !isHalfPair(prefix) ? "" : prefix, phrases }
}

/** A name of several words is found by these, however they are written. */
const partsIn = (text: string): string[] =>
  namesIn(text).flatMap(({ words }) => (words.length > 1 ? words.slice(0, -1) : words))

/** What stands for a word in the index: itself; of one that is being typed, all that it may become. */
type Spelling = readonly [word: string, isBeginning: boolean]

/** For each word that must be there, what to look up. */
export const spellingsOf = ({ words, prefix }: Query): Spelling[][] => {
  const whole = (word: string): Spelling => [word, false]
  const typed: Spelling[] = [[prefix, true], ...shorterStems(prefix).map(whole)]
  return [...words.map((word) => [whole(word)]), ...(prefix === "" ? [] : [typed])]
}

/** Whether a word of a text is one of those that are asked for. */
function wordTest({ words, prefix }: Query): (word: string) => number {
  const places = new Map(words.map((word, n) => [word, n]))
  const shorter = new Set(prefix === "" ? [] : shorterStems(prefix))
  return (word) =>
    places.get(word) ?? (prefix !== "" && (word.startsWith(prefix) || shorter.has(word)) ? words.length : -1)
}

const flat = (text: string): string => text.replace(/\s+/g, " ").trim().toLowerCase()

/* Which turns are found. */

/** The shards in which it may be. */
export function shardsOf(first: readonly string[], [from, isPrefix]: Spelling): number[] {
  const end = isPrefix ? `${from}\uffff` : from
  let start = first.findLastIndex((word) => word <= from)
  if (start < 0) start = 0
  const found: number[] = []
  for (let n = start; n < first.length && (n === start || first[n]! <= end); n++) found.push(n)
  return found
}

/** Adds the turns that have it, with the kinds of their texts. */
export function addTurnsWith(
  found: Map<number, number>,
  shards: readonly WordShard[],
  [from, isPrefix]: Spelling,
): void {
  for (const [words, turns] of shards) {
    const rows = turns.split(" ")
    for (const [n, word] of words.split(" ").entries()) {
      if (word !== from && !(isPrefix && word.startsWith(from))) continue
      for (const { turn, kinds } of unpacked(rows[n]!)) found.set(turn, (found.get(turn) ?? 0) | kinds)
    }
  }
}

interface RankedTurn {
  readonly turn: number
  readonly score: number
}

/**
 * The turns that have all words, in no order.
 *
 * @param each for each word, the turns that have it
 * @param total how many turns there are
 */
export function turnsWithAll(
  each: readonly ReadonlyMap<number, number>[],
  lengths: string,
  total: number,
): RankedTurn[] {
  const [rarest, ...others] = each.toSorted((a, b) => a.size - b.size)
  if (rarest === undefined) return []
  const usual = 250
  const found: RankedTurn[] = []
  for (const turn of rarest.keys()) {
    if (!others.every((one) => one.has(turn))) continue
    let score = 0
    for (const one of each) score += Math.log(1 + total / one.size) * weightOf(one.get(turn)!)
    found.push({ turn, score: score / (0.6 + (0.4 * lengthOf(lengths[turn] ?? "A")) / usual) })
  }
  return found
}

function weightOf(kinds: number): number {
  let most = 0
  let sum = 0
  for (const [n, weight] of WEIGHTS.entries()) {
    if ((kinds & (1 << n)) === 0) continue
    most = Math.max(most, weight)
    sum += weight
  }
  return most + ALSO * (sum - most)
}

/* What is shown of a hit. */

interface TextHit {
  readonly kind: (typeof TEXT_KINDS)[number]
  readonly text: string
  /** What is marked, in UTF-16 units of `text`. */
  readonly marks: readonly (readonly [from: number, to: number])[]
  /** From 0 to 1: how many of the words are in this text, and how near each other. */
  readonly closeness: number
}

/** UTF-16 units of a snippet, and how much of it stands before what was found. */
const SNIPPET = 320
const BEFORE = 70
/** UTF-16 units of a text that are looked at. */
const LOOKED_AT = 20_000

/** The text of a turn that says most of what was asked; undefined: not these phrases. */
export function bestText(turn: TurnTexts, asked: Query): TextHit | undefined {
  const texts = turn.slice(3)
  const flatTexts =
    asked.phrases.length === 0 ? [] : texts.filter((_, n) => n % 2 === 1).map((text) => flat(String(text)))
  if (!asked.phrases.every((phrase) => flatTexts.some((text) => text.includes(phrase)))) return undefined
  let best: (TextHit & { readonly worth: number }) | undefined
  for (let n = 0; n < texts.length; n += 2) {
    const kind = Number(texts[n])
    const hit = hitIn(String(texts[n + 1]), kind, asked)
    const worth = hit === undefined ? 0 : hit.closeness * WEIGHTS[kind]!
    if (hit !== undefined && (best === undefined || worth > best.worth)) best = { ...hit, worth }
  }
  return best
}

function hitIn(text: string, kind: number, asked: Query): TextHit | undefined {
  const test = wordTest(asked)
  const places: { readonly at: number; readonly end: number; readonly which: number }[] = []
  for (const { words, at, length } of namesIn(text.slice(0, LOOKED_AT)))
    for (const word of words) {
      const which = test(word)
      if (which < 0) continue
      const [from, to] = within(text.slice(at, at + length), word)
      places.push({ at: at + from, end: at + to, which })
    }
  const [phrase] = asked.phrases
  const exact = phrase === undefined ? -1 : text.search(patternOf(phrase))
  if (places.length === 0) return undefined
  const wanted = asked.words.length + (asked.prefix === "" ? 0 : 1)
  const { from, distinct, span } = narrowest(places, exact)
  const start = startOf(text, from)
  const end = Math.min(text.length, start + SNIPPET)
  const marks: [number, number][] = []
  const shift = start > 0 ? 1 : 0
  for (const place of places) {
    const last = marks.at(-1)
    if (place.at < start || place.end > end || (last !== undefined && place.at - start + shift < last[1]))
      continue
    marks.push([place.at - start + shift, place.end - start + shift])
  }
  return {
    kind: TEXT_KINDS[kind]!,
    text: `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`,
    marks,
    closeness:
      (distinct / wanted) ** 2 *
      (1 - Math.min(0.4, span / 4000)) *
      (phrase === undefined || exact >= 0 ? 1 : 0.2),
  }
}

/** Any space stands for any other. */
const patternOf = (phrase: string): RegExp =>
  new RegExp(phrase.replace(/[^\p{L}\p{N} ]/gu, "\\$&").replaceAll(" ", "\\s+"), "i")

/** Where a word is in a name: `build` in `build-args`; of what is not found as it is written, all of the name. */
function within(name: string, word: string): [from: number, to: number] {
  const from = name.toLowerCase().indexOf(word)
  if (from < 0) return [0, name.length]
  const isCapital = /\p{Lu}$/u.test(name.slice(from, from + word.length))
  const [rest] = (isCapital ? /^[\p{Lu}\p{N}]*/u : /^[\p{Ll}\p{M}\p{N}]*/u).exec(
    name.slice(from + word.length),
  )!
  return [from, from + word.length + rest.length]
}

/** Where most different words stand nearest to each other. */
function narrowest(
  places: readonly { readonly at: number; readonly end: number; readonly which: number }[],
  exact: number,
): { readonly from: number; readonly distinct: number; readonly span: number } {
  let best = { from: exact < 0 ? places[0]!.at : exact, distinct: 0, span: 0 }
  for (let first = 0; first < Math.min(places.length, 400); first++) {
    const { at } = places[first]!
    const seen = new Set<number>()
    let end = at
    for (let n = first; n < places.length && places[n]!.end - at <= SNIPPET - BEFORE; n++) {
      if (!seen.has(places[n]!.which)) end = places[n]!.end
      seen.add(places[n]!.which)
    }
    const isBetter = seen.size > best.distinct || (seen.size === best.distinct && end - at < best.span)
    if (isBetter) best = { from: exact < 0 ? at : exact, distinct: seen.size, span: end - at }
  }
  return best
}

/** Some text before it, and no half word. */
function startOf(text: string, from: number): number {
  const wanted = Math.max(0, from - BEFORE)
  if (wanted === 0) return 0
  const space = text.slice(wanted, from).search(/\s/)
  return space < 0 ? wanted : wanted + space + 1
}
