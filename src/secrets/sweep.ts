/**
 * Finds all sequences in one pass over the bytes. That takes a third of the time of a search for each, once the engine
 * has compiled it, which a hook does not live to see. Pure.
 */
import { LITERALS, MIDDLES } from "../../dist/formats/anchors.js"
import { BETWEEN, ECHOED, INTRODUCTIONS, OTHERS, PLUS, type Seek, SPOKEN, wordGate } from "./seek.ts"

const ANY = "abcdefghijklmnopqrstuvwxyz"

/**
 * What the words of the gate begin with, and the letters that may follow in them. None begins within another, so they
 * are found in order.
 */
const STEMS: readonly (readonly [stem: string, more: string])[] = [
  ["pass", "wpcedsl"],
  ["pin", "n"],
  ["psk", "n"],
  ["salt", "n"],
  ["seed", "n"],
  ["pw", "d"],
  ["secret", ""],
  ["token", ""],
  ["key", "bsp"],
  ["auth", ANY],
  ["api", ANY],
  ["app", ANY],
  ["cred", "es"],
  ["cookie", ""],
  ["kennwort", ""],
  ["jwt", ""],
  ["pat", ""],
  ["session=", ""],
  ["sessionid=", ""],
  ["sid=", ""],
  ["sig=", ""],
  ["signature=", ""],
]

interface Sequence {
  readonly text: string
  readonly codes: readonly number[]
  /** Which of its pairs it is found by. */
  readonly pair: number
  /** For a stem: letters that may follow. */
  readonly more: string | undefined
}

/** The most frequent characters of transcripts, in their order. */
const FREQUENT = ' etaoinsrldcpumfh"g\\b-yv_k,./:wT01xACDE23456789'

const rank = (unit: string): number => {
  const at = FREQUENT.indexOf(unit)
  return at < 0 ? FREQUENT.length : at
}

function sequenceOf(text: string, more?: string): Sequence {
  let pair = 0
  const rarity = (n: number): number => rank(text[n]!) + rank(text[n + 1]!)
  for (let n = 1; n + 1 < text.length; n++) if (rarity(n) > rarity(pair)) pair = n
  return { text, codes: Array.from(text, (unit) => unit.charCodeAt(0)), pair, more }
}

/** All that is looked for besides the gate's words. */
export const SOUGHT_SEQUENCES: readonly string[] = [
  LITERALS,
  MIDDLES,
  INTRODUCTIONS,
  ECHOED,
  SPOKEN.passwords,
  SPOKEN.keys,
]
  .flatMap((list) => list.split(BETWEEN))
  .concat(PLUS, OTHERS)
const SEQUENCES = SOUGHT_SEQUENCES.map((text) => sequenceOf(text))
const KNOWN = new Set(SEQUENCES.map(({ text }) => text))

/** By pair of bytes: 0, or the number of a group of sequences. */
const groupOf = new Uint8Array(1 << 16)
const groups: Sequence[][] = [[]]

function enter(sequence: Sequence, first: number, second: number): void {
  const pair = (first << 8) | second
  if (groupOf[pair] === 0) groupOf[pair] = groups.push([]) - 1
  groups[groupOf[pair]!]!.push(sequence)
}

for (const sequence of SEQUENCES)
  enter(sequence, sequence.codes[sequence.pair]!, sequence.codes[sequence.pair + 1]!)
for (const [stem, more] of STEMS) {
  const sequence = sequenceOf(stem, more)
  const cases = (n: number): string[] => [...new Set([stem[n]!, stem[n]!.toUpperCase()])]
  for (const first of cases(sequence.pair))
    for (const second of cases(sequence.pair + 1)) enter(sequence, first.charCodeAt(0), second.charCodeAt(0))
}

const NONE: readonly number[] = []
const gate = new RegExp(wordGate(), "iy")

export const sweep: Seek = (bytes, text) => {
  const found = new Map<string, number[]>()
  const stems: number[] = []
  for (let pair = nextPair(bytes, 0); pair >= 0; pair = nextPair(bytes, pair + 1)) {
    for (const sequence of groups[groupOf[(bytes[pair]! << 8) | bytes[pair + 1]!]!]!) {
      const start = pair - sequence.pair
      if (!isAt(bytes, start, sequence)) continue
      const places = sequence.more === undefined ? found.get(sequence.text) : stems
      if (places === undefined) found.set(sequence.text, [start])
      else places.push(start)
    }
  }
  return {
    places(sequence) {
      // What is not looked for would not be found, and nobody would know.
      if (!KNOWN.has(sequence)) throw new Error(`no search for ${sequence}`)
      return found.get(sequence) ?? NONE
    },
    eachWord(examine) {
      let from = 0
      for (const start of stems) {
        if (start < from) continue
        gate.lastIndex = start
        if (gate.test(text)) from = examine(start, gate.lastIndex)
      }
    },
  }
}

/** Where the next pair stands by which some sequence is found; -1 if none does. Small, to be compiled soon. */
function nextPair(bytes: Uint8Array, from: number): number {
  const last = bytes.length - 1
  for (let at = from, first = bytes[from]!; at < last; at++) {
    const second = bytes[at + 1]!
    if (groupOf[(first << 8) | second] !== 0) return at
    first = second
  }
  return -1
}

function isAt(bytes: Uint8Array, start: number, { codes, more }: Sequence): boolean {
  if (start < 0 || start + codes.length > bytes.length) return false
  const fold = more === undefined ? 0 : 0x20
  for (let n = 0; n < codes.length; n++) if ((bytes[start + n]! | fold) !== codes[n]) return false
  if (more === undefined || codes.at(-1) === 0x3d) return true
  const next = (bytes[start + codes.length] ?? 0) | 0x20
  return next < 0x61 || next > 0x7a || more.includes(String.fromCharCode(next))
}
