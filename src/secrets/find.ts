/**
 * Finds secrets in a text with one character per byte of UTF-8. Pure.
 *
 * Each kind has an anchor that a fast search finds (one regular expression, or `indexOf`); only there is it examined
 * closely.
 */
import { look, tick } from "./clock.ts"
import { assignments, manifests, options, privateKeys, urls } from "./rules.ts"
import {
  type AddSpan,
  ECHOED,
  eachIn,
  INTRODUCTIONS,
  type Introduction,
  type Seek,
  type SequencePlaces,
  SPOKEN,
} from "./seek.ts"
import { findTokens } from "./tokens.ts"
import type { Value } from "./value-end.ts"
import { hasFewer } from "./variety.ts"

/** Matches at the `://` of an address that may hold a password, a token or the secret path of a web hook. */
let addresses: RegExp | undefined

/** In values from documentation, which are nobody's secrets. AWS marks all of its own with the word. */
const EXAMPLES = [
  "EXAMPLE",
  "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
  "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
]

/** `lines`: lines of a transcript, each independent of the others. */
type TextKind = "lines" | "text"

/**
 * Calls `add` with the start and end of each secret; these may overlap.
 *
 * @param bytes what `text` was made from: searching bytes is five times as fast
 */
export function findSecrets(bytes: Buffer, text: string, kind: TextKind, seek: Seek, add: AddSpan): void {
  const isLines = kind === "lines"
  findPlainly(bytes, text, isLines, seek, add)
  findEncoded(text, isLines, ({ start, end, decoded, isWrapped }) => {
    findPlainly(Buffer.from(decoded, "latin1"), decoded, false, seek, (from, to) => {
      if (isWrapped) add(start, end)
      else add(start + Math.floor(from / 3) * 4, Math.min(end, start + Math.ceil((to * 4) / 3)))
    })
  })
  if (bytes.indexOf(0x25) >= 0) findPercent(text, seek, add)
}

/** What is searched at once, so that the clock is looked at in between, and how much of it again: no secret is longer. */
const PIECE = 256 << 10
const SHARED = 64 << 10

/** Finds secrets that are not encoded. */
function findPlainly(bytes: Buffer, text: string, isLines: boolean, seek: Seek, add: AddSpan): void {
  if (text.length <= PIECE) {
    findInPiece(bytes, text, isLines, seek, add)
    return
  }
  for (let from = 0, to = 0; to < text.length; from += PIECE - SHARED) {
    look()
    to = Math.min(from + PIECE, text.length)
    const found: AddSpan = (start, end, isValue) =>
      // One that reaches the end may be cut off there.
      add(from + start, from + end, isValue && (from + end < to || to === text.length))
    findInPiece(bytes.subarray(from, to), text.slice(from, to), isLines, seek, found)
  }
}

function findInPiece(bytes: Buffer, text: string, isLines: boolean, seek: Seek, add: AddSpan): void {
  const found: AddSpan = (start, end, isValue = true) => {
    if (!isExample(text.slice(start, end))) add(start, end, isValue)
  }
  const sought = seek(bytes, text)
  findTokens(text, sought, found)
  findValues(text, sought, found)
  addresses ??= /:\/\/(?=[^\s"'`\\<>]{0,600}?(?:@|hook|bot))/y
  for (const at of sought.places("://")) {
    tick()
    addresses.lastIndex = at
    const value = addresses.test(text) ? urls().urlSecretAt(text, at) : undefined
    if (value !== undefined) found(value.start, value.end)
  }
  if (sought.places("PRIVATE").some((at) => isMark(text, at)) || sought.places("Private-").length > 0)
    privateKeys().findKeys(text, isLines, add)
  const secrets = sought.places("Secret")
  if (secrets.length > 0 && text.includes("kind")) manifests().findManifests(text, secrets, found)
  if (sought.places("kty").length > 0) privateKeys().findWebKeys(bytes, text, add)
}

/** Whether a word of capitals may belong to the mark of a private key, which colours may divide. */
const isMark = (text: string, at: number): boolean =>
  /(?:BEGIN|END).{1,60}$/.test(text.slice(Math.max(0, at - 66), at)) &&
  text.slice(at, at + 48).includes("KEY")

function isExample(value: string): boolean {
  if (EXAMPLES.some((one) => value.includes(one))) return true
  // A key that ends in one repeated letter: `ghp_xxxxxxxxxxxxxxxxxxxx`. A PIN has few digits.
  return hasFewer(value.length > 12 ? 4 : 3, value.slice(-16)) && !value.includes("*")
}

function findValues(text: string, sought: SequencePlaces, add: AddSpan): void {
  sought.eachWord((start, end) => {
    tick()
    const values = mayBeNamed(text, start, end) ? assignments().valuesAt(text, start) : []
    for (const value of values) add(value.start, value.end)
    // What follows may be a name itself: `"name": "PASSWORD", "value": …`.
    return Math.max(start + 3, values.at(-1)?.end ?? 0)
  })
  const near = (list: string, examine: (at: number, sequence: string) => void): void =>
    eachIn(list, (sequence) => {
      let past = 0
      for (const at of sought.places(sequence)) {
        if (at < past) continue
        past = at + sequence.length
        tick()
        examine(past, sequence)
      }
    })
  const take = (value: Value | undefined): void => {
    if (value !== undefined) add(value.start, value.end)
  }
  near(INTRODUCTIONS, (at, one) =>
    options()
      .introducedAt(text, one as Introduction, at)
      .forEach(take),
  )
  near(ECHOED, (at, one) => take(options().echoedBefore(text, at - one.length)))
  near(SPOKEN.passwords, (at) => take(options().spokenAt(text, at, false)))
  near(SPOKEN.keys, (at) => take(options().spokenAt(text, at, true)))
}

/** How far behind its name a value begins, at most, and how many words and line breaks may stand between them. */
const FARTHEST = 96
const MOST_WORDS = 12
const MOST_LINES = 3

/**
 * Whether something like a value is near. What follows the words of the gate is mostly prose or code, and a hook should
 * not load the rules for that. By hand, because this runs a few times in a hook.
 *
 * @param end index after the gate's match
 */
function mayBeNamed(text: string, start: number, end: number): boolean {
  // Passwords may be like any word. Or the value comes first: "… is the key".
  if (
    "pPsS".includes(text[start]!)
      ? !/^(?:secret(?!_key ?=)|ses|si)/i.test(text.slice(start, start + 12))
      : text.startsWith("authtok", start) || text.startsWith("master", start - 6)
  )
    return true
  if (isBehindValue(text, start)) return true
  let words = 0
  let lines = 0
  let run = 0
  let isMarked = false
  let hasCapital = false
  let isSmall = true
  let turns = 0
  let letters = 0
  let vowels = 0
  for (let at = end; at < end + FARTHEST; at++) {
    const code = text.charCodeAt(at)
    if (
      code > 0x20 &&
      (code < 0x7b || code === 0x7e) &&
      !ENDS.includes(text[at]!) &&
      (lines === 0 || !"/.".includes(text[at]!))
    ) {
      run++
      isMarked ||= (code < 0x3a && code > 0x2f) || (run > 1 && "#$%^!@~".includes(text[at]!))
      hasCapital ||= code > 0x40 && code < 0x5b
      if (run > 1 && code > 0x40 && code < 0x60 !== text.charCodeAt(at - 1) < 0x60) turns++
      letters = code > 0x60 ? letters + 1 : -FARTHEST
      if ("aeiou".includes(text[at]!)) vowels++
      isSmall &&= code > 0x60
      // On lines below there are hashes, dates and paths.
      if (
        (isMarked && run > (lines === 0 ? 7 : 11)) ||
        (hasCapital && run > (lines === 0 ? 13 : 19)) ||
        // Random letters have as many turns between capitals and others; of words, four with so few vowels are rare.
        (turns * 5 > run * 2 && run > 7) ||
        (words > 2 && letters > 15 && vowels * 10 < letters * 3) ||
        (isSmall && run > 15)
      )
        return true
      continue
    }
    if (run > 1 && ++words === MOST_WORDS) return false
    if ((code === 0x0a || (code === 0x5c && text[at + 1] === "n")) && ++lines > MOST_LINES) return false
    // The end of a string of JSON, with the next field behind it; in a patch, with the next line.
    if (code === 0x22 && text.startsWith(',"', at + 1) && !"+- ".includes(text[at + 3]!)) return false
    run = 0
    turns = 0
    isMarked = false
    hasCapital = false
    isSmall = lines === 0
  }
  return false
}

const VERB_WITHIN = 24

/** Whether a word with a digit, or a very long one, precedes the nearest ` is `: no value that is told so has neither. */
function isBehindValue(text: string, start: number): boolean {
  if (start < VERB_WITHIN) return false
  const within = text.slice(start - VERB_WITHIN, start).lastIndexOf(" is ")
  if (within < 0) return false
  const verb = start - VERB_WITHIN + within
  for (let at = verb - 1; at >= 0 && text.charCodeAt(at) > 0x20; at--) {
    const code = text.charCodeAt(at)
    if ((code > 0x2f && code < 0x3a) || verb - at === 20) return true
  }
  return false
}

/** What no key contains, or hardly any. */
const ENDS = "\"'`\\,:;()[]<>"

const HEX = "0123456789ABCDEFabcdef"
/** No URL that anyone writes is longer. */
const LONGEST_BEFORE = 2048

/** A password of six characters with `:` and what introduces it. */
const SHORTEST_ENCODED = 12

/** Finds secrets of which a URL encodes a part, for instance as `%3D`. */
function findPercent(text: string, seek: Seek, add: AddSpan): void {
  const encoded = /(?:%[0-9A-Fa-f]{2}|[\w.~!*()+/:@&=?,;$#-])+/y
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", at + 1)) {
    tick()
    if (!HEX.includes(text[at + 1] ?? " ") || !HEX.includes(text[at + 2] ?? " ")) continue
    let start = at
    while (start > 0 && at - start < LONGEST_BEFORE && /[\w.~!*()+/:@&=?,;$#-]/.test(text[start - 1]!))
      start--
    encoded.lastIndex = start
    if (!encoded.test(text)) continue
    at = encoded.lastIndex - 1
    if (at - start < SHORTEST_ENCODED) continue
    const { decoded, places } = decodePercent(text, start, encoded.lastIndex)
    findPlainly(Buffer.from(decoded, "latin1"), decoded, false, seek, (from, to) =>
      add(places[from]!, places[to]!),
    )
  }
}

/** @returns the decoded text, and where each of its characters, and its end, was in `text` */
function decodePercent(text: string, start: number, end: number): { decoded: string; places: number[] } {
  const places: number[] = []
  let decoded = ""
  for (let at = start; at < end; ) {
    tick()
    places.push(at)
    if (text[at] === "%") {
      decoded += String.fromCharCode(Number.parseInt(text.slice(at + 1, at + 3), 16))
      at += 3
    } else decoded += text[at++]
  }
  places.push(end)
  return { decoded, places }
}

/* Finds runs of base64, URL-safe or not, wrapped or not, that hold text. Pure. */

/**
 * Matches up to the end of the first group of four. It must decode to printable ASCII, which one random group in
 * fourteen does.
 */
const gateOf = (): RegExp =>
  /[^A-Za-mo-qsu-z0-9][I-Za-f][C-HS-Xi-ny-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-](?=[A-Za-z0-9+/_-]{20})/g

let gate: RegExp | undefined

interface Encoded {
  readonly start: number
  readonly end: number
  /** The decoded content, one character per byte. */
  readonly decoded: string
  /** Whether it contains line breaks, so that positions in `decoded` do not map to positions in it. */
  readonly isWrapped: boolean
}

/**
 * Calls `found` with each run.
 *
 * @param isLines whether a run ends with its line
 */
function findEncoded(text: string, isLines: boolean, found: (encoded: Encoded) => void): void {
  for (let at = gateAfter(text, 0); at >= 0; ) {
    tick()
    const start = at - 4
    // The gate takes `n`, `r` and `t` before a run for the end of an escape.
    if (!isText(text, start) || (/[nrt]/.test(text[start - 1]!) && text[start - 2] !== "\\")) {
      at = gateAfter(text, at)
      continue
    }
    const run = whole(text, start, isLines)
    found(run)
    at = gateAfter(text, run.end)
  }
}

/** What the gate sees at once, so that the clock is looked at in between, and more than it needs for a match. */
const ENCODED_PIECE = 256 << 10
const GATE_LENGTH = 32

/** Where the gate's next match ends; -1 if there is none. */
function gateAfter(text: string, from: number): number {
  gate ??= gateOf()
  for (let start = 0; ; start += ENCODED_PIECE - GATE_LENGTH) {
    const isLast = text.length - start <= ENCODED_PIECE
    if (!isLast && start + ENCODED_PIECE - GATE_LENGTH < from) continue
    look()
    const piece = start === 0 && isLast ? text : text.slice(start, start + ENCODED_PIECE)
    gate.lastIndex = Math.max(0, from - start)
    if (gate.test(piece)) return start + gate.lastIndex
    if (isLast) return -1
  }
}

/** Whether the first groups decode to printable ASCII or line breaks, told without decoding them. */
function isText(text: string, start: number): boolean {
  for (let at = start; at < start + 4 * GROUPS; at += 4) {
    if (!FIRST.includes(text[at]!) || !SECOND.includes(text[at + 1]!) || !THIRD.includes(text[at + 2]!))
      return false
  }
  return true
}

const GROUPS = 5
const FIRST = "CDIJKLMNOPQRSTUVWXYZabcdef"
const SECOND = "CDEFGHSTUVWXijklmnyz0123QgAw"
const THIRD = "ABEFIJMNQRUVYZcdghklopstwx014589"

/** A run continues after a line break or an escaped one. */
const runAt = (): RegExp => /[A-Za-z0-9+/_-]+={0,2}(?:(?:\\+[nr])+[A-Za-z0-9+/_-]{4,}={0,2})*/y
const runOfLinesAt = (): RegExp => /[A-Za-z0-9+/_-]+={0,2}(?:(?:\\+[nr]|\n)+[A-Za-z0-9+/_-]{4,}={0,2})*/y

function whole(text: string, start: number, isLines: boolean): Encoded {
  const regex = isLines ? runAt() : runOfLinesAt()
  regex.lastIndex = start
  const end = regex.test(text) ? regex.lastIndex : start
  const run = text.slice(start, end)
  const isWrapped = /[\\\n]/.test(run)
  return { start, end, decoded: decode(isWrapped ? run.replace(/\\+[nr]|\n/g, "") : run), isWrapped }
}

const decode = (base64: string): string => Buffer.from(base64, "base64").toString("latin1")
