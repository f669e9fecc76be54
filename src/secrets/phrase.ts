/** Passphrases of several words, where no quotation marks say where they end. Pure. */
import { isWords } from "./chosen.ts"
import { isPhrase } from "./value.ts"
import type { Value } from "./value-end.ts"

/** Several words of random letters, as app passwords of Google and some passphrases are. */
const phrase = (): RegExp =>
  /[A-Za-z][a-z]{2,11}(?: (?:[a-z]{3,12}|\d{1,6}\b)){3,7}(?=["'`<]|\s*(?:$|[\r\n|]|\\{1,7}["nr]| --?\w))/y

export function phraseAt(text: string, start: number): Value | undefined {
  let blank = start + 1
  while (blank < start + 13 && text.charCodeAt(blank) > 96 && text.charCodeAt(blank) < 123) blank++
  if (blank < start + 3 || text[blank] !== " " || !hasLetters(text, blank + 1)) return undefined
  const regex = phrase()
  regex.lastIndex = start
  if (!regex.test(text)) return undefined
  const value = text.slice(start, regex.lastIndex)
  return isPhrase(value) || isWords(value) ? { start, end: regex.lastIndex } : undefined
}

const hasLetters = (text: string, at: number): boolean =>
  text.charCodeAt(at) > 96 && text.charCodeAt(at + 1) > 96 && text.charCodeAt(at + 2) > 96
