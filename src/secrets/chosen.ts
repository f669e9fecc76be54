/** What passwords and keys may look like where a setting plainly holds one. Pure. */
import { isPhrase, isWord, wordiness } from "./value.ts"
import type { Value } from "./value-end.ts"
import { hasFewer } from "./variety.ts"

/** In names of fields, of types and of where a password is kept; what stands for one; and what is said of one. */
const meant = (): RegExp =>
  /pass(?:w|p|c|\b|_|$)|pwd|secret|token|(?<!mon|tur|hoc|joc)key|cred|auth|user|admin|login|your|example|sample|test|change|default|dummy|fake|hidden|redact|none|null|undefined|true|false|string|bytes|type|field|input|label|text|valid|value|param|arg(?:$|s|v|_)|config|setting|option|env|var(?:$|s|_|i)|file|path|prompt|require|element|control|button|schema|object|array|number|class|func|method|module|index|name|vault|keyring|kms|(?:^|\W)sha-?\d|md5|^latin|^utf|encrypt|hash|crypt|generat|random|current|confirm|forg[eo]t|reset|empty|\bunset|encod|base64|mysql|postgres|mongo|redis|format|http|json|yaml|html|plugin|policy|mode/i

/** The digits in order, from where an example begins. */
const COUNTED = "12345678901234567890 01234567890 98765432109876543210"

/** Whether somebody may have thought of it as a password: words, alone or joined, digits, odd letters. */
export function isChosen(value: string, isQuoted: boolean): boolean {
  if (value.length < 6 && !(value.length === 5 && isWord(value))) return false
  if (value.length > 64 || meant().test(value)) return false
  if (/^\d{6,20}$/.test(value)) return !COUNTED.includes(value) && !hasFewer(3, value)
  if (/^[a-z]+$/.test(value)) return isWord(value)
  if (isIrregular(value.replace(value.length > 15 ? /:/ : /[=:/.-]/, ""), 0.5)) return true
  // `Lantern7` and the like are told elsewhere.
  if (/^(?:[A-Z][a-z]{2,12}){2,4}\d{0,4}[!?.]?$/.test(value)) return true
  if (/^[A-Za-z]{2,14}(?:[-_][A-Za-z\d]{1,14}){1,5}[!?.]?$/.test(value)) return !/^[A-Z_]+$/.test(value)
  // A dot also joins a variable and its field.
  if (/^[A-Za-z][\w.]*$/.test(value)) return /\d/.test(value) && (isQuoted || wordiness(value) < 0.3)
  // Other marks are rare in names.
  return (
    /[A-Za-z]/.test(value) &&
    /^[^\s"`\\<>{}[\],;]+$/.test(value) &&
    /\d|[!@#$%^*+~]|\)\w/.test(value) &&
    !/^[\w$.]+\([^)]*\)?$|=>|^[\w-]+=|^[@$%&(!./~-]|:\/\/|^[\w.]+[/:]\D*$|\$\{|\{\{/.test(value)
  )
}

const COMMON =
  /^(?:the|your?|my|a|an|is|are|was|be|to|for|of|in|on|at|or|and|not|no|with|please|must|enter|this|that|it|if|can|de|du|la|le|el|da|do|der|die|das|und|ist|mit|zu|ein|eine|et|en|y|e|o)$/

/** Whether it is several words that make no sentence. */
export function isWords(value: string): boolean {
  const words = value.split(" ")
  return (
    words.length > 2 &&
    words.length < 9 &&
    /^(?:[A-Za-z]{3,12}|\d{1,6})$/.test(words[0]!) &&
    words.every(
      (one, n) => /^(?:[a-z]{3,12}|\d{1,6})$/.test(one) || (n === 0 && /^[A-Z]?[a-z]{2,12}$/.test(one)),
    ) &&
    !words.some((one) => COMMON.test(one.toLowerCase()) || meant().test(one))
  )
}

/** What is said of passwords and keys, and of the fields that take them. */
const said = (): RegExp =>
  /\b(?:pass\w*|pwd|secrets?|credentials?|tokens?|enter|your|please|must|should|cannot|can't|isn't|doesn't|don't|not|too|required?|optional|invalid|wrong|incorrect|mismatch|match(?:es)?|choose|provided?|specif\w+|encrypt\w*|decrypt\w*|protect\w*|unlock\w*|used?|using|string|default|environment|variable|option\w*|argument|characters?|leave|empty|example|repeat|confirm|forgot\w*|log ?in|sign ?in|authenticat\w+|private|certificate|stored?|sav(?:e|ed)|change\w*|reset|set|valid\w*|error|fail\w*|missing|unable|when|whether|which|returns?|function|user\w*|account|contains?|at least)\b/i

/**
 * Whether it may be a sentence that somebody thought of to be a passphrase, and is none about passphrases: quoted, since
 * nothing else tells its end.
 */
export const isSpokenPhrase = (value: string): boolean =>
  value.length > 11 &&
  value.length < 160 &&
  /^[A-Za-z\d][\w'-]*(?:,? [\w'-]+){2,23}[.!]?$/.test(value) &&
  !said().test(value)

const isMingledCase = (value: string): boolean =>
  (value.match(/[a-z][A-Z]|[A-Z][a-z]/g) ?? []).length > value.length / 5

/** Whether capitals and small letters alternate as in no word or name. */
export function isIrregular(written: string, most = 0.34): boolean {
  // Of base64, which a long text without a digit may be.
  const value = written.length > 15 ? written.replaceAll(/[-_+/]|={1,2}$/g, "") : written
  if (!/^[A-Za-z]+$/.test(value)) return false
  // No name of 16 capitals lacks a `_`.
  if (/^(?:[A-Z]{16,}|[a-z]{14,})$/.test(value)) return wordiness(value) < (value < "a" ? 0.45 : 0.34)
  let turns = 0
  for (let at = 1; at < value.length; at++)
    // A name may begin with a capital.
    if ((at > 1 || value.charCodeAt(0) > 96) && value.charCodeAt(at) > 96 !== value.charCodeAt(at - 1) > 96)
      turns++
  if (most > 0.34 && turns > 0 && wordiness(value) < 0.17) return true
  return (
    turns >= Math.max(2, value.length * 0.25) &&
    !/^(?:[A-Z]?[a-z]{3,})+$/.test(value) &&
    wordiness(value) < most
  )
}

/** Whether it may be a key where nothing else has such a name: not only random text, but hardly a name. */
export function isOpaque(value: string): boolean {
  if (value.length < 8 || value.length > 512 || !/^[\w.~+/%=:@!$^*#&?-]+$/.test(value)) return false
  if (!/\d/.test(value))
    return isIrregular(value, value.length < 10 ? 0.2 : 0.34) && !meant().test(value.slice(0, 64))
  if (!/[A-Za-z]/.test(value)) return false
  // Names, versions, paths and sizes.
  if (
    /^[A-Za-z]+[-_.]?\d{1,4}$|^v?\d+\.|^[./]|^[a-z]{3,}[-_][a-z]{3,}|\.\w{2,4}$|^\d+[a-z]{1,3}$|:\/\//i.test(
      value,
    )
  )
    return false
  if (hasFewer(6, value)) return false
  // Capitals, small letters and digits among each other are no name.
  const isMixture =
    value.length > 13 && /^[A-Za-z\d]+$/.test(value) && /\d[A-Za-z]/.test(value) && isMingledCase(value)
  return wordiness(value) < (isMixture ? 0.55 : value.length < 12 && !/[!@#$%^*&]/.test(value) ? 0.25 : 0.4)
}

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

/** How far behind their introduction the words begin. */
const FARTHEST_SEED = 160
/** The words of a phrase that restores a wallet: so many, of so many letters. */
const FEWEST_WORDS = 12
const MOST_WORDS = 24
const DIFFERENT_WORDS = 8

const seedWord = (): RegExp => /[A-Za-z]{3,8}(?!\w|'\w)/y
/** Between two of them: blanks, line breaks, commas, numbers, and what an array, a table or a patch adds. */
const betweenWords = (): RegExp =>
  /(?:[ \t\r\n,"'`|[\]*+-]|\\{1,7}[nrt"'`]|\xe2[\x80-\xbf]{2}|\d{1,4}(?:[.:)]|\\{1,7}t|\t|\xe2\x86\x92| ){1,2}){1,48}/y
/** Words of sentences, none of which a wallet's list has. */
const sentences = (): RegExp =>
  /^(?:the|and|are|was|were|for|not|has|had|but|our|your|its|his|her|from|which|would|been|does|into|than|them|these|those|here|how|why|who|did)$/i

/** The words of a seed phrase behind what introduces one, each by itself unless only a blank is between them. */
export function seedsAt(text: string, at: number): readonly Value[] {
  // `mnemonics` are an assembler's.
  if (/[A-Za-z0-9]/.test(text[at] ?? " ")) return []
  const one = seedWord()
  const gap = betweenWords()
  let words: Value[] = []
  for (let from = at; from < at + FARTHEST_SEED || words.length > 0; ) {
    one.lastIndex = from
    const isWord = !/\w/.test(text[from - 1] ?? " ") || /\\[nrt]$/.test(text.slice(from - 2, from))
    if (isWord && one.test(text) && !sentences().test(text.slice(from, one.lastIndex))) {
      words.push({ start: from, end: one.lastIndex })
      gap.lastIndex = one.lastIndex
      if (words.length < MOST_WORDS && gap.test(text)) {
        from = gap.lastIndex
        continue
      }
    }
    if (words.length >= FEWEST_WORDS) break
    // Goes on behind what is no word of a phrase.
    words = []
    while (/\w/.test(text[from] ?? " ") && from < at + FARTHEST_SEED) from++
    from = pastMarksOf(text, from, at + FARTHEST_SEED)
  }
  const different = new Set(words.map(({ start, end }) => text.slice(start, end).toLowerCase()))
  if (different.size < DIFFERENT_WORDS) return []
  return joinedByBlanks(text, words)
}

/** Where the next letter stands that belongs to no escape. */
function pastMarksOf(text: string, from: number, most: number): number {
  let at = from
  while (at < most && !/[A-Za-z]/.test(text[at] ?? " ")) {
    if (text[at] !== "\\") at++
    else {
      while (text[at] === "\\") at++
      if ("nrt".includes(text[at] ?? " ")) at++
    }
  }
  return at
}

function joinedByBlanks(text: string, words: readonly Value[]): Value[] {
  const found: { start: number; end: number }[] = []
  for (const { start, end } of words) {
    const last = found.at(-1)
    if (last !== undefined && start === last.end + 1 && text[last.end] === " ") last.end = end
    else found.push({ start, end })
  }
  return found
}
