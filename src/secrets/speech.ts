/** Finds passwords and keys in sentences of languages whose words for them are not found in code. Pure. */
import { bareAt, quotedAt, type Value } from "./text.ts"
import { isMixed, isPlaceholder, isRandom } from "./value.ts"

/**
 * Stems, since the languages inflect, with one character per byte as the text has: арол, АРОЛ, ontraseña, 密码, 密碼, 口令, パスワード. Without the first
 * letter, which may be a capital.
 */
export const passwordWords = (): string[] => [
  "\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb",
  "\xd0\x90\xd0\xa0\xd0\x9e\xd0\x9b",
  "ontrase\xc3\xb1a",
  "\xe5\xaf\x86\xe7\xa0\x81",
  "\xe5\xaf\x86\xe7\xa2\xbc",
  "\xe5\x8f\xa3\xe4\xbb\xa4",
  "\xe3\x83\x91\xe3\x82\xb9\xe3\x83\xaf\xe3\x83\xbc\xe3\x83\x89",
]

/** The same of окен, люч, chlüssel, 密钥, 令牌, トークン. */
export const keyWords = (): string[] => [
  "\xd0\xbe\xd0\xba\xd0\xb5\xd0\xbd",
  "\xd0\xbb\xd1\x8e\xd1\x87",
  "chl\xc3\xbcssel",
  "\xe5\xaf\x86\xe9\x92\xa5",
  "\xe4\xbb\xa4\xe7\x89\x8c",
  "\xe3\x83\x88\xe3\x83\xbc\xe3\x82\xaf\xe3\x83\xb3",
]

/** Up to three words, then what joins a value: a colon, a dash, a blank, or a word for "is". */
const joint = (): RegExp =>
  /[\x80-\xff]{0,16}?\*{0,2}(?: [\x80-\xff]{1,24}){0,3}?(?: ?(?:[:=]|\xef\xbc\x9a|\xe2\x80\x94|\xe6\x98\xaf|\xe4\xb8\xba|\xe3\x81\xaf| es| ist| lautet| -))?\*{0,2} {0,3}(?=[!-~]{4})/y

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
