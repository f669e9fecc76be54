/** Passphrases of several words, where no quotation marks say where they end. Pure. */
import { isWords } from "./chosen.ts"
import type { Value } from "./text.ts"
import { isPhrase } from "./value.ts"

/** Several words of random letters, as app passwords of Google and some passphrases are. */
const phrase = (): RegExp =>
  /[A-Za-z][a-z]{2,11}(?: (?:[a-z]{3,12}|\d{1,6}\b)){3,7}?(?=["'`<;]|\s*(?:$|[\r\n|]|\\{1,7}["nr]| --?\w)| (?:node|npm|npx|yarn|pnpm|bun|make|docker|cargo|go|sudo|kubectl|exec|python3?) )/y
/** Three make a value only in a line of settings. */
const three = (): RegExp => /[A-Za-z][a-z]{2,11}(?: [a-z]{3,12}){2}(?=["']?\s*(?:$|[\r\n]|\\{1,7}["nr]))/y
const variable = (): RegExp => /(?:^|[\s"'`]|\\{1,7}[nrt])[A-Z][A-Z\d_]{2,60}=$/

export function phraseAt(text: string, start: number): Value | undefined {
  let blank = start + 1
  while (blank < start + 13 && text.charCodeAt(blank) > 96 && text.charCodeAt(blank) < 123) blank++
  if (blank < start + 3 || text[blank] !== " " || !hasLetters(text, blank + 1)) return undefined
  let regex = phrase()
  regex.lastIndex = start
  if (!regex.test(text)) {
    if (text[start - 1] !== "=" || !variable().test(text.slice(Math.max(0, start - 66), start)))
      return undefined
    regex = three()
    regex.lastIndex = start
    if (!regex.test(text)) return undefined
  }
  const value = text.slice(start, regex.lastIndex)
  return isPhrase(value) || isWords(value) ? { start, end: regex.lastIndex } : undefined
}

const hasLetters = (text: string, at: number): boolean =>
  text.charCodeAt(at) > 96 && text.charCodeAt(at + 1) > 96 && text.charCodeAt(at + 2) > 96
