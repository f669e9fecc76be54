/**
 * Finds tokens that their own form reveals, in a text with one character per byte. Pure.
 *
 * Nearly every format begins with a word and a separator, with two capitals or with a rare sequence of letters. Only
 * where one of those stands are the tables of formats needed, which most hooks never load: whatever is found here is
 * looked up in strings, since even building a table takes longer than a hook's lines.
 */
import { HEADS, LITERALS, MIDDLES, ORDINARY, plainGate, WORDS } from "../../dist/formats/anchors.js"
import { afterEscape, isAlphanumeric, isBeginning, wordBefore } from "./beginning.ts"
import { tick } from "./clock.ts"
import { formats } from "./rules.ts"
import { type AddSpan, eachIn, PLUS, type SequencePlaces } from "./seek.ts"

type Found = ReturnType<ReturnType<typeof formats>["spanAt"]>

/**
 * `separated` matches up to a separator with a long rest, which one position in a thousand has. The groups of a UUID
 * are the most common long rest and no token; a rest without a digit or capital is a name or a path.
 */
let gates: { separated: RegExp; plain: RegExp } | undefined

export function findTokens(text: string, { places }: SequencePlaces, add: AddSpan): void {
  gates ??= {
    separated: /[_.:$~-](?![0-9a-f]{4}-)(?=[\w.$+/-]{14})(?=[a-z_.:$~+/-]{0,48}[A-Z0-9])/g,
    plain: plainGate(),
  }
  findSeparated(text, gates.separated, add)
  findPlain(text, gates.plain, add)
  findSequences(text, LITERALS, places, isBeginning, add)
  findSequences(text, MIDDLES, places, isMiddle, add)
}

/** No word is longer, with what a colour puts before it. */
const LONGEST_WORD = 36
/** From this many candidates on, a set pays off; in a hook, building it costs more than it saves. */
const MANY = 500
let words: Set<string> | undefined
let ordinary: Set<string> | undefined
let heads: Set<string> | undefined

const setOf = (list: string): Set<string> => new Set(list.trim().split(" "))

function findSeparated(text: string, gate: RegExp, add: AddSpan): void {
  gate.lastIndex = 0
  let candidates = 0
  while (gate.test(text)) {
    tick()
    const at = gate.lastIndex
    if (words === undefined && !mayEndWord(text, at)) continue
    const start = wordBefore(text, at - 1, LONGEST_WORD)
    const word = text.slice(start, at)
    if (++candidates === MANY) {
      words ??= setOf(WORDS)
      ordinary ??= setOf(ORDINARY)
    }
    const isKnown = words?.has(word) ?? WORDS.includes(` ${word} `)
    const span =
      isKnown || isOrdinary(text, word, at) ? formats().spanAt(text, word, start) : formAt(text, word, at)
    if (span === undefined) continue
    add(span.start, span.end)
    gate.lastIndex = span.end
  }
}

/** Whether the word that ends at `at` may be known or random. In a hook this is cheaper than to find its beginning. */
function mayEndWord(text: string, at: number): boolean {
  if (!isAlphanumeric(text.charCodeAt(at - 3))) return true
  // One letter behind an escape or a colour.
  if (text[at - 4] === "\\" || (text[at - 3] === "m" && /\d/.test(text[at - 4]!))) return true
  const ending = `${text.slice(at - 3, at)} `
  if (WORDS.includes(ending) || ORDINARY.includes(ending)) return true
  if (isDiscord(text, at)) return true
  // The other random words have 14 letters and digits at least.
  const mayBeRandom = "._:-".includes(text[at - 1]!) && isAlphanumeric(text.charCodeAt(at - 7))
  return mayBeRandom && isAlphanumeric(text.charCodeAt(at - 15))
}

/** Whether six characters stand between this dot and another. */
const isDiscord = (text: string, at: number): boolean => text[at - 1] === "." && text[at + 6] === "."

const isOrdinary = (text: string, word: string, at: number): boolean =>
  (ordinary?.has(word) ?? ORDINARY.includes(` ${word} `)) && /^[\w-]{20}$/.test(text.slice(at, at + 20))

/** The token whose random first word, with its separator, ends at `at`. */
function formAt(text: string, word: string, at: number): Found | undefined {
  if (isDiscord(text, at)) {
    const start = runBefore(text, at - 1, /[\w-]*$/)
    if ("MNO".includes(text[start]!)) return formats().spanAt(text, "#discord", start)
  }
  const start = at - word.length
  switch (word.length) {
    case 15:
    case 16:
    case 17:
      return text[start - 1] === "/" ? asanaAt(text, at) : undefined
    case 18:
      return word.startsWith("pat") ? formats().spanAt(text, "#airtable", start) : undefined
    case 25:
    case 33:
      if (word.endsWith("tt-")) return formats().spanAt(text, "#storyblok", start)
      return /^[0-9a-f]+[.:-]$/.test(word) ? formats().spanAt(text, "#hex", start) : undefined
    case 28:
      return word.endsWith("_") ? formats().spanAt(text, "#ngrok", start) : undefined
    default:
      return undefined
  }
}

/** Its first words are two or three numbers with slashes. */
const asanaAt = (text: string, at: number): Found | undefined =>
  text[at - 1] === ":" ? formats().spanAt(text, "#asana", runBefore(text, at - 1, /[\d/]*$/)) : undefined

/** Where the run before `at` begins. */
const runBefore = (text: string, at: number, run: RegExp): number =>
  afterEscape(text, at - run.exec(text.slice(Math.max(0, at - LONGEST_WORD), at))![0].length)

function findPlain(text: string, gate: RegExp, add: AddSpan): void {
  gate.lastIndex = 0
  let candidates = 0
  while (gate.test(text)) {
    tick()
    if (++candidates === MANY) heads ??= setOf(HEADS)
    const start = gate.lastIndex - 3
    const anchor = headAt(text, start)
    if (anchor === "" || !isBeginning(text, start) || formats().isWithinBase64(text, start)) continue
    const span = formats().spanAt(text, anchor, start)
    if (span === undefined) continue
    add(span.start, span.end)
    gate.lastIndex = span.end
  }
}

const isHead = (text: string): boolean => heads?.has(text) ?? HEADS.includes(` ${text} `)

function headAt(text: string, start: number): string {
  const long = text.slice(start, start + 4)
  if (isHead(long)) return long
  const short = long.slice(0, 3)
  return isHead(short) ? short : ""
}

function findSequences(
  text: string,
  list: string,
  places: SequencePlaces["places"],
  isPossible: (text: string, at: number) => boolean,
  add: AddSpan,
): void {
  // A third of the middles begin alike: most texts have none of these.
  const isPlus = list !== MIDDLES || places(PLUS).length > 0
  eachIn(list, (sequence) => {
    if (!isPlus && sequence.startsWith(PLUS)) return
    let past = 0
    for (const at of places(sequence)) {
      if (at < past) continue
      tick()
      const span = isPossible(text, at) ? formats().spanAt(text, sequence, at) : undefined
      if (span !== undefined) add(span.start, span.end)
      past = span?.end ?? pastFailure(text, at, sequence)
    }
  })
}

/**
 * Whether random characters precede `at`, of which one in eight is a digit or a capital. No expression: it would have
 * to be compiled first.
 */
function isMiddle(text: string, at: number): boolean {
  let isRandom = false
  for (let n = 1; n <= 8; n++) {
    const code = text.charCodeAt(at - n)
    if (n <= 4 && !isAlphanumeric(code) && !"_.~+/-".includes(text[at - n] ?? " ")) return false
    isRandom ||= isAlphanumeric(code) && code < 0x61
  }
  return isRandom
}

/**
 * Where to continue after a literal at `at` that belongs to no token. Any number of characters may follow `eyJ`, and
 * what must follow them is the same for every `eyJ` in the run, so the others begin no token either.
 */
function pastFailure(text: string, at: number, literal: string): number {
  if (literal !== "eyJ") return at
  const run = /[\w-]*/y
  run.lastIndex = at
  run.test(text)
  return run.lastIndex
}
