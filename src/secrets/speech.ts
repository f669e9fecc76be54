/** Finds passwords and keys in sentences of languages whose words for them are not found in code. Pure. */

import { isMixed, isPlaceholder, isRandom } from "./value.ts"
import { bareAt, quotedAt, type Value } from "./value-end.ts"

/** Up to three words, then what joins a value: a colon, a dash, a blank, or a word for "is". */
const joint = (): RegExp =>
  /[\x80-\xff]{0,16}?\*{0,2}(?: [\x80-\xff]{1,24}){0,3}?(?: (?:de|del|do|da|para|\xd0\xbe\xd1\x82|\xd0\xb4\xd0\xbb\xd1\x8f) [\w.@-]{1,24})?(?: ?(?:[:=]|\xef\xbc\x9a|\xe2\x80\x94|\xe6\x98\xaf|\xe4\xb8\xba|\xe3\x81\xaf| \xc3\xa9| es| ist| lautet| -):?)?\*{0,2} {0,3}(?=[!-~]{4})/y

/** @param at index after one of the words */
export function spokenAt(text: string, at: number, isKey: boolean): Value | undefined {
  const regex = joint()
  regex.lastIndex = at
  if (!regex.test(text)) return undefined
  const start = regex.lastIndex
  const found = quotedAt(text, start) ?? bareAt(text, start, "ascii")
  if (found === undefined) return undefined
  const value = text.slice(found.start, found.end)
  if (isPlaceholder(value)) return undefined
  return (isKey ? isRandom(value) : isMixed(value)) ? found : undefined
}
