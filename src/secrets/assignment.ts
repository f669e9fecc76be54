/** How a name and its value are joined: in settings, in languages, in tables and on command lines. Pure. */
import { bracketedAt, secondArgument, valueBefore, valueFirst } from "./apart.ts"
import { phraseAt, seedsAt } from "./chosen.ts"
import { type How, isOperator, type Joint, jointAt } from "./joint.ts"
import { type Name, nameAt, nameEnd } from "./names.ts"
import { isSetting, isTaken } from "./settings.ts"
import { isMixed, isPhrase, isPlaceholder, isRandom, wordiness } from "./value.ts"
import { type Bare, bareAt, isQuote, quotedAt, type Value } from "./value-end.ts"
import { isHeader, isPhraseName, isSecret } from "./verdict.ts"

/** A value on the line below its name, as in `key: >-`. */
const below = (): RegExp =>
  /(?:[|>][-+]?)?[ \t]{0,4}(?:(?:\r?\n|\\{1,7}(?:r\\{1,7})?n)(?:[ \t]|\\{1,7}t){0,16}){1,3}/y

/**
 * The values that a word found by the gate introduces; none if they are no secrets. Several only of a seed phrase, whose
 * words may stand in a list.
 *
 * @param at index of the word
 */
export function valuesAt(text: string, at: number): readonly Value[] {
  const end = nameEnd(text, at)
  if ("sS".includes(text[at]!) && /^seed(?:\\{0,7}["']? ?[:=]| words)/i.test(text.slice(at, at + 16))) {
    const words = seedsAt(text, end)
    if (words.length > 0) return words
  }
  const value = behind(text, at, end) ?? before(text, at, end)
  return value === undefined ? [] : [value]
}

/** The value before its name, as in `… is the password`. */
function before(text: string, at: number, end: number): Value | undefined {
  if (isQuote(text[end]) || text[end] === "\\") {
    const name = text.slice(Math.max(0, at - 640), at).includes("value") ? nameAt(text, at, end) : undefined
    const found = name === undefined ? undefined : valueFirst(text, name.start)
    if (found !== undefined && isSecret(text, name!, "named", found, true)) return found
  }
  if (!' .\n\\,;)"'.includes(text[end] ?? " ") || !text.slice(Math.max(0, at - 96), at).includes(" is "))
    return undefined
  const name = nameAt(text, at, end)
  const found = name === undefined ? undefined : valueBefore(text, name.start)
  return found !== undefined && isSecret(text, name!, "apart", found, false) ? found : undefined
}

/** Keys hold no commas, and no elements follow in them. */
function endedBy(text: string, name: Name, value: Value | undefined): Value | undefined {
  if (value === undefined || name.kind === "password") return value
  const length = text.slice(value.start, value.end).search(/[,<]/)
  return length < 0 ? value : { start: value.start, end: value.start + length }
}

const isCredential = (text: string, end: number): boolean =>
  /(?:credentials?|auth)$/i.test(text.slice(Math.max(0, end - 11), end))

function behind(text: string, at: number, end: number): Value | undefined {
  if ((text[end] === "(" || text[end] === "=") && isCredential(text, end)) {
    const second = secondArgument(text, end)
    if (second !== undefined)
      return isArgumentSecret(text.slice(second.start, second.end)) ? second : undefined
  }
  const joint = jointAt(text, end) ?? takenAt(text, at, end)
  if (joint === undefined) return undefined
  const { how, at: start } = joint
  const quoted = quotedAt(text, start) ?? bracketedAt(text, start)
  if (quoted !== undefined) {
    if (!mayBe(text, quoted)) return undefined
    const name = nameAt(text, at, end)
    return name !== undefined && isSecret(text, name, how, quoted, true) ? quoted : undefined
  }
  if (how === "quoted") return undefined
  const isBlock = how === "assigned" && "|>".includes(text[start] ?? " ")
  const phrase = phraseAt(text, isBlock ? start + belowAt(text, start) : start)
  if (phrase !== undefined) {
    const name = nameAt(text, at, end)
    if (name === undefined || (name.kind === "key" && !isHeader(name))) return undefined
    if (isPhrase(text.slice(phrase.start, phrase.end))) return phrase
    return name.kind === "password" && (isOperator(how) || isPhraseName(name)) ? phrase : undefined
  }
  const gap = how === "assigned" && text[start - 1] !== "=" ? belowAt(text, start) : 0
  if (
    gap === 0 &&
    !(isOperator(how)
      ? mayBeBare(text, start)
      : hasMark(text, start) || (how === "spaced" && isTaken(text, at)))
  )
    return undefined
  const name = nameAt(text, at, end)
  if (name === undefined) return undefined
  const bare = endedBy(text, name, bareAt(text, start + gap, bareOf(text, name, how)))
  if (bare === undefined) return undefined
  // A value below its name stands alone on its line.
  if (gap > 0 && !/^(?:\\{1,7}[nr]|[\r\n"]|$)/.test(text.slice(bare.end, bare.end + 8))) return undefined
  return isSecret(text, name, isBlock && gap > 0 ? "element" : gap > 0 ? "said" : how, bare, false)
    ? bare
    : undefined
}

/** The value that a name of another kind introduces, where `may` tells it. */
export function joinedAt(text: string, end: number, may: (value: string) => boolean): Value | undefined {
  const joint = jointAt(text, end)
  if (joint === undefined) return undefined
  const { how, at } = joint
  const found = quotedAt(text, at) ?? bareAt(text, at, how === "element" || how === "cell" ? how : "word")
  return found !== undefined && may(text.slice(found.start, found.end)) ? found : undefined
}

/** A word behind an option or another name that takes one. */
const takenAt = (text: string, at: number, end: number): Joint | undefined =>
  text[end] === " " && text[end + 1]! > " " && isTaken(text, at) ? { how: "spaced", at: end + 1 } : undefined

const isArgumentSecret = (value: string): boolean =>
  !isPlaceholder(value) && (isMixed(value) || isRandom(value, 8)) && wordiness(value) < 0.35

/** What most values are that are none: short, or one word, or a sentence. Told without regular expressions. */
function mayBe(text: string, { start, end }: Value): boolean {
  if (end - start < 4) return false
  if (end - start > 7 || !isLetter(text.charCodeAt(start))) return true
  for (let at = start; at < end; at++) if (!isLetter(text.charCodeAt(at))) return true
  return isLower(text, start, end) || hasCapitals(text, start, end)
}

/** Whether capitals stand within the word, and small letters, too. */
function hasCapitals(text: string, start: number, end: number): boolean {
  let capitals = 0
  for (let at = start + 1; at < end; at++) if (text.charCodeAt(at) < 91) capitals++
  return capitals > 0 && capitals < end - start - 1
}

/** Whether the word that begins here has a digit or a mark in it, as any value must that no operator introduces. */
function hasMark(text: string, start: number): boolean {
  for (let at = start; at < start + 64; at++) {
    const code = text.charCodeAt(at)
    if (!(code > 0x20)) return false
    if ((code > 0x2f && code < 0x3a) || "@#$%^*+~!&?".includes(text[at]!)) return true
  }
  return false
}

/** Whether a bare value may begin here: not code, which mostly has a bracket, a dot or a comma behind a word. */
function mayBeBare(text: string, start: number): boolean {
  let at = start
  while (isLetter(text.charCodeAt(at)) && at < start + 24) at++
  if (at === start) return !"{[(<>)]},;".includes(text[at] ?? ")") && text[at]! > " "
  return (
    at > start + 7 ||
    !" ,.;()[]}<>".includes(text[at] ?? " ") ||
    isLower(text, start, at) ||
    (at > start + 5 && hasCapitals(text, start, at))
  )
}

const isLetter = (code: number): boolean =>
  (code > 64 && code < 91) || (code > 96 && code < 123) || code === 0x5f

function isLower(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (text.charCodeAt(at) < 97) return false
  return end > start + 4
}

/** The length of what stands before a value on the line below its name; 0 when there is none. */
function belowAt(text: string, at: number): number {
  if (!"|>\\\r\n ".includes(text[at] ?? "-")) return 0
  const gap = below()
  gap.lastIndex = at
  return gap.test(text) ? gap.lastIndex - at : 0
}

function bareOf(text: string, name: Name, how: How): Bare {
  if (how === "element" || how === "cell") return how
  if (how === "said") return "ascii"
  if (how === "apart") return "field"
  return how === "assigned" && isSetting(text, name) ? "line" : "word"
}
