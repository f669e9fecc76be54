/** How a name and its value are joined: in settings, in languages, in tables and on command lines. Pure. */
import { bracketedAt, secondArgument, valueBefore, valueFirst } from "./apart.ts"
import { isChosen, isIrregular, isOpaque, isSpokenPhrase, isWords, phraseAt, seedsAt } from "./chosen.ts"
import { type How, isOperator, type Joint, jointAt } from "./joint.ts"
import { type Name, nameAt, nameEnd } from "./names.ts"
import {
  isLetters,
  isMixed,
  isPhrase,
  isPlaceholder,
  isQuotedPassword,
  isRandom,
  isUuid,
  isWord,
  wordiness,
} from "./value.ts"
import { type Bare, bareAt, isQuote, quotedAt, type Value } from "./value-end.ts"
import { hasFewer } from "./variety.ts"

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

/* Whether what stands behind a name is a secret, by the kind of name and how the two are joined. Pure. */

function hasDigit(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++)
    if (text.charCodeAt(at) > 0x2f && text.charCodeAt(at) < 0x3a) return true
  return false
}

function isSecret(text: string, name: Name, how: How, { start, end }: Value, isQuoted: boolean): boolean {
  // A key has a digit, unless it is very long, or of odd letters.
  if (name.kind === "pin" || name.kind === "hex")
    return isDigits(text.slice(start, end), name.kind) && isPlainlySet(text, name, how, start, end, isQuoted)
  if (name.kind !== "password" && end - start < 20 && !hasDigit(text, start, end)) {
    if (name.kind === "key" && !isHeader(name)) return false
    if (!mayBeChosen(text, name, isQuoted) && (end - start < 8 || !isIrregular(text.slice(start, end))))
      return false
  }
  const value = text.slice(start, end)
  if (isPlaceholder(value)) {
    // "The old mill …"
    const mayBegin = isQuoted && name.kind === "password" && /^(?:the|my|some) /i.test(value)
    if (!mayBegin || !maySaySentence(text, name, value)) return false
  }
  return name.kind === "password"
    ? isPasswordOf(text, name, how, value, end, isQuoted) || isPlainly(text, name, how, value, end, isQuoted)
    : isKeyOf(text, name, how, value, isQuoted) || isPlainly(text, name, how, value, end, isQuoted)
}

const isPhraseName = (name: Name): boolean => /phrase[\W_]*$/i.test(name.text)

/**
 * Whether a sentence may be a password there: behind a name that is made for one, a variable, or an option. Elsewhere
 * it is a message, which begins with a capital.
 */
const maySaySentence = (text: string, name: Name, value: string): boolean =>
  isSpokenPhrase(value) &&
  (isPhraseName(name) ||
    name.text.startsWith("-") ||
    (/^[A-Z\d_]+$/.test(name.text) && text[name.end] === "=") ||
    (/^[a-z]/.test(value) && value.split(" ").length > 3))

const isDigits = (value: string, kind: "pin" | "hex"): boolean =>
  kind === "pin"
    ? /^\d{6,12}$/.test(value) && isChosen(value, true)
    : /^[0-9a-f]{32}$/.test(value) && /[a-f]/.test(value) && /\d/.test(value)

/** Whether settings plainly hold it, and it may be what the name says. */
function isPlainly(
  text: string,
  name: Name,
  how: How,
  value: string,
  end: number,
  isQuoted: boolean,
): boolean {
  if (name.kind === "key" && !isHeader(name)) return false
  const start = end - value.length
  const isValue =
    name.kind === "password"
      ? (!/\s/.test(value) && isMixed(value)) ||
        isChosen(value, isQuoted) ||
        (isQuoted && value.includes(" ") && (isWords(value) || maySaySentence(text, name, value)))
      : isOpaque(value) ||
        (isQuoted && isPhrase(value)) ||
        (isQuoted && how !== "quoted" && !/\s/.test(value) && isMarked(value)) ||
        (isOfPeople(name) &&
          value.length > (mayBeChosen(text, name, isQuoted) ? 4 : 7) &&
          isChosen(value, isQuoted))
  // "Passwort: erforderlich"
  if (!isQuoted && text[name.end] === ":" && /^[A-Z][a-z]+$/.test(name.text) && /^[a-z]+$/.test(value))
    return false
  return isValue && !isBarePass(text, name) && isPlainlySet(text, name, how, start, end, isQuoted)
}

/** Secrets that an application signs with, which people also choose themselves. */
const isOfPeople = (name: Name): boolean =>
  /(?:(?:jwt|session|cookie|app|client|webhook|signing|shared|auth|secret)[_.-]?(?:secret|key)(?:[_-]?base)?|salt)$/i.test(
    name.text,
  )

/** Whether a word may be a secret there: in a line of settings, behind a name in capitals or with `_`. */
const mayBeChosen = (text: string, name: Name, isQuoted: boolean): boolean =>
  /salt$/i.test(name.text) || (!isQuoted && isOfPeople(name) && isSetting(text, name) && isSettingName(name))

const isSettingName = (name: Name): boolean => /^(?:[A-Z\d]+_[A-Z_\d]+|[a-z]+_[a-z_]+)$/.test(name.text)

/** Tests and compilers have passes. */
const isBarePass = (text: string, name: Name): boolean =>
  /^-{0,2}pass$/i.test(name.text) && !isPassOption(text, name) && !isBesideUser(text, name)

const isHeader = (name: Name): boolean => /^authorization$/i.test(name.text)

const structure = (): RegExp => /^(?:[\][{}:,\s\d]|true|false|null)*$/

function isPasswordOf(
  text: string,
  name: Name,
  how: How,
  value: string,
  end: number,
  isQuoted: boolean,
): boolean {
  if (
    /^pass$/i.test(name.text) &&
    how !== "named" &&
    how !== "element" &&
    (how !== "assigned" || (!isQuoted && end - value.length !== name.end + 1)) &&
    !isBesideUser(text, name)
  )
    return false
  if (how === "apart") return isApart(value)
  if (isQuoted) {
    if (structure().test(value)) return false
    if (how === "spaced" || how === "said")
      return isMixed(value) || (how === "said" && value.includes(" ") && maySaySentence(text, name, value))
    if (/^pass$/i.test(name.text) && /\s/.test(value)) return false
    return isQuotedPassword(value) || (isWord(value) && isOfSettings(text, name))
  }
  if (isMixed(value) || (isLetters(value) && isOperator(how)))
    return how !== "spaced" || isArgument(text, name)
  const letters = value.replace(/!$/, "")
  const isLong = /^[a-z]{8,64}$/i.test(letters)
  // `login me password …` of .netrc
  if (how === "spaced")
    return isLong && /[a-z][A-Z]/.test(letters) && wordiness(letters) < 0.2 && isArgument(text, name)
  if (!isOperator(how)) return false
  if (isLong && wordiness(letters) < (text[name.end] === "=" && letters.length > 11 ? 0.36 : 0.25))
    return true
  const isLast = /^(?:\\{1,7}[nr]|[\r\n"]|[ \t]{1,8}(?:#|\/\/)|$)/.test(text.slice(end, end + 12))
  return isLast && isWord(value) && isSetting(text, name) && isConstant(text, name)
}

/** Whether a value that nothing else introduces looks like a password. */
const isApart = (value: string): boolean =>
  value.length >= 8 && /\d/.test(value) && isMixed(value) && wordiness(value) < 0.3

/** Whether a value may follow the name after a blank: `--password x`, `password x` in .netrc, `ENV PASSWORD x`. */
const isArgument = (text: string, name: Name): boolean =>
  name.text.startsWith("-") ||
  /^(?:password|requirepass|masterauth|[a-z]+_[a-z_]+)$/.test(name.text) ||
  (/^[A-Z_\d]+$/.test(name.text) && hasTaker(text, name))

/** `DB_PASSWORD=` or `password: `, but not `password = `, which is mostly code. */
const isConstant = (text: string, name: Name): boolean =>
  text[name.end] === "=" ? /^[A-Z_\d]+$/.test(name.text) : /^[a-z_\d]+$/.test(name.text)

/** A name in capitals, or a quoted one before a quoted value, as in JSON. */
const isOfSettings = (text: string, { text: name, start, end }: Name): boolean =>
  (/^[A-Z_\d]+$/.test(name) && /^ ?=/.test(text.slice(end, end + 2))) ||
  (text[start - 1] === '"' && /^\\{0,7}":/.test(text.slice(end, end + 9)))

/** A name that a value in quotation marks may follow after a blank: `#define API_KEY "…"`, `invalid token "…"`. */
const isQuotedName = (text: string, name: Name): boolean =>
  isCapitals(name) || text.slice(Math.max(0, name.start - 8), name.start) === "invalid "

/** A name of several words. */
const isLong = (name: Name): boolean => /[a-z][A-Z_.-]/.test(name.text)

/** A name in capitals with a word before `KEY`. */
const isCapitals = (name: Name): boolean => /^[A-Z\d]+_[A-Z_\d]+$/.test(name.text)

const LEAST: Readonly<Record<"secret" | "key", number>> = { secret: 14, key: 20 }

function isKeyOf(text: string, name: Name, how: How, value: string, isQuoted: boolean): boolean {
  const kind = name.kind as "secret" | "key"
  // Schemes like `AWS4-HMAC-SHA256` are in capitals.
  const isHeader = /^authorization$/i.test(name.text) && /[a-z]/.test(value)
  if (isRandom(value, isHeader ? LEAST.secret : LEAST[kind])) {
    if (
      kind === "key" &&
      (isUuid(value)
        ? !/^authorization$/i.test(name.text) &&
          !isCapitals(name) &&
          !(isLong(name) && (isOperator(how) || name.text.startsWith("-")))
        : how === "spaced" && !isArgument(text, name) && !(isQuoted && isQuotedName(text, name)))
    )
      return false
    if (how === "spaced" && !isQuoted && !isArgument(text, name) && !isRandom(value, 20)) return false
    return isQuoted || how === "assigned" || !/[$!^%@]/.test(value.replaceAll(/%[\dA-F]{2}/g, ""))
  }
  // As a blog's settings have them: long, and of all characters. A document has strings of its own, or says what it is.
  const isDocument = value.includes('"') || value.startsWith("-----BEGIN ")
  if (
    isQuoted &&
    value.length > 40 &&
    how !== "said" &&
    !isDocument &&
    wordiness(value) < 0.12 &&
    /\d/.test(value)
  )
    return true
  if (kind === "key" || hasFewer(6, value)) return false
  // In base32, as one-time passwords have it.
  if (/seed$/i.test(name.text) && /^[A-Z2-7]{16,64}$/.test(value)) return true
  if (value.length >= 24 && !/[\s\\{}()]/.test(value) && isMarked(value) && wordiness(value) < 0.15)
    return true
  // Shorter, or of more characters than keys have: where it is plainly a value.
  if (
    how === "apart" ||
    how === "said" ||
    how === "spaced" ||
    how === "cell" ||
    value.length < 8 ||
    /\s/.test(value)
  )
    return false
  if (!isQuoted && !isSetting(text, name)) return false
  if (isQuoted ? !isQuotedPassword(value) : !isMixed(value)) return false
  if ((/\d/.test(value) && wordiness(value) < 0.25) || isMarked(value)) return true
  // `SECRET_KEY='blue-Horse-77'` in settings, where nothing but a secret has such a name.
  return isSetting(text, name) && /^[A-Z_\d]+$/.test(name.text) && hasThreeSorts(value)
}

const hasThreeSorts = (value: string): boolean =>
  value.length >= 10 && /\d/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value)

/** Whether it has more marks than code or a pattern has. */
const isMarked = (value: string): boolean =>
  value.length >= 12 &&
  (value.match(/[^\w\s./:,'"\\-]/g) ?? []).length > 3 &&
  wordiness(value) < 0.35 &&
  !/[aA]-[zZ]|\\[dws]|\[\^|\(\?|\.\*/.test(value)

/* Whether settings plainly give a value to a name: then it may be of any look but that of a reference. Pure. */

const lineStart = (): RegExp =>
  /(?:^|[\r\n"]|\\{1,7}[nr])(?:[ \t]|\\{1,7}t){0,40}(?:\$ |[A-Z]:\\{1,8}> )?(?:(?:export|setx?|ENV|ARG|declare -x|readonly|[-+>]|-e|--env|--build-arg|\d{1,6}[\x80-\xff|:]{1,3}|\d{1,6}\\{1,7}t|\$env:)[ \t]{0,4}){0,2}(?:[\w.-]{1,24}:)?$/

/** Whether the name begins its line, or its string. */
function isSetting(text: string, { start }: Name): boolean {
  const from = Math.max(0, start - 64)
  return lineStart().test((from === 0 ? "" : "x") + text.slice(from, start))
}

/** Commands and options that take a name and its value, and pairs before it, as in a query or a connection string. */
const taker = (): RegExp =>
  /(?:(?:^|\s)-{1,2}(?:set(?:-string)?|from-literal|var|env|e|D|build-arg|extra-vars|param|property|data|d|F)[ =]?\\{0,7}["']?|(?:secrets?|config|env):?[ ]?set[ ]|\bput \S{1,64} |[?&;][ ]?|ookie: ?|\/:|\w=[^\s"'=]{1,64}[ ,]\\{0,7}["']?)$/

/** Whether nothing but a comment follows on the line. */
const isLast = (text: string, end: number): boolean =>
  /^(?:\\{1,7}[nr]|[\r\n"]|[ \t]{1,8}(?:#|;|\/\/|\\\\?[\r\n])|$)/.test(text.slice(end, end + 12))

/** A name in capitals directly before `=`, as in a shell. */
const isVariable = (text: string, name: Name): boolean =>
  text[name.end] === "=" && /^[A-Z][A-Z_\d]+$/.test(name.text)

/** @param start where the value begins, without its quotation mark */
function isPlainlySet(
  text: string,
  name: Name,
  how: How,
  start: number,
  end: number,
  isQuoted: boolean,
): boolean {
  if (how === "element" || how === "named") return true
  // `define("NAME", "…")`
  if (how === "quoted" && name.text.startsWith("-")) return isAmongArguments(text, name)
  if (how === "quoted")
    return isVariableName(name) && setter().test(text.slice(Math.max(0, name.start - 24), name.start))
  if (how === "spaced") return isOption(text, name, end, isQuoted)
  if (how !== "assigned") return false
  if (isQuoted || name.text.startsWith("-")) return true
  // A header as an argument of a command.
  const mark = text[name.start - 1] ?? " "
  if (
    "\"'".includes(mark) &&
    text
      .slice(end, end + 8)
      .replace(/^\\+/, "")
      .startsWith(mark)
  )
    return true
  if (/^pass$/i.test(name.text) && text[name.end] === ":" && isPassOption(text, name))
    return endsWord(text, end)
  if (isVariable(text, name)) return start === name.end + 1 && endsWord(text, end)
  if (text[name.end] === "=" && taker().test(text.slice(Math.max(0, name.start - 80), name.start)))
    return endsWord(text, end)
  return isLast(text, end) && isSetting(text, name)
}

/** Whether strings precede the option in a list: the first one of a call is declared there. */
const isAmongArguments = (text: string, name: Name): boolean =>
  /["'],(?:\s|\\{1,7}[nrt]){0,24}\\{0,7}["']$/.test(text.slice(Math.max(0, name.start - 40), name.start))

/** Functions that set or read a variable of the environment. */
const setter = (): RegExp =>
  /(?:define|env|environ\.get|setenv|setProperty)\(\s?\\{0,7}["']$|"String", ?\\{0,7}"$/i

/** `-passin pass:…` */
const isPassOption = (text: string, name: Name): boolean =>
  /-pass(?:in|out)? \\{0,7}["']?$/.test(text.slice(Math.max(0, name.start - 16), name.start))

/** Whether a user's name is set in the line before it or in its own: in code, other things are a pass. */
const isBesideUser = (text: string, name: Name): boolean =>
  /(?:^|[\s"'{,;]|\\{1,7}["nr])(?:user(?:_?name|id)?|login)\\{0,7}["']?[ \t]{0,8}[=:][ \t]{0,8}[^\r\n=:]{1,80}$/i.test(
    text
      .slice(Math.max(0, name.start - 120), name.start)
      .replace(/(?:\r?\n|\\{1,7}n)[ \t]{0,40}(?:\\{0,7}["'])?$/, ""),
  )

/** Whether a word ends here that is the whole value: what follows is not a third and a fourth word of it. */
const endsWord = (text: string, end: number): boolean =>
  " \t\r\n\"'\\;&".includes(text[end] ?? "\n") &&
  !/^ (?!(?:npm|npx|yarn|pnpm|bun|make|docker|cargo|go|sudo|kubectl|exec) )(?:[a-z]{3,12} ){2}[a-z]{3,12}(?![\w./-])/.test(
    text.slice(end, end + 48),
  )

/** What stands before a name that takes its value after a blank. */
const beforeName = (): RegExp =>
  /(?:(?:ENV|ARG|setx?|setenv|env:set|secrets? set|variables? set)[ \t]{1,4}|-g?x |(?:login|user)(?:[ \t]|\\{1,7}t){1,4}\S{1,64}(?:\s|\\{1,7}[nrt]){1,8}|\b(?:WITH|LOGIN|ENCRYPTED|(?:ROLE|USER) [\w"'@%\\]{1,64}) )$/i

/** Settings of Redis, LDAP and Gradle that take a value after a blank. */
const takesBlank = (): RegExp => /^(?:requirepass|masterauth|bindpw|(?:store|key)Password)$/

/** `--password x`, `password x` in .netrc, `ENV PASSWORD x` */
function isOption(text: string, name: Name, end: number, isQuoted: boolean): boolean {
  if (takesBlank().test(name.text)) return isLast(text, isQuoted ? end + 1 : end)
  if (name.text.startsWith("-"))
    return (
      isQuoted ||
      /^(?:[ ](?:--?[a-z]|[|>&\\\d]|[\w.-]+[@:/]|ssh)|\\{1,7}[nr]|[\r\n"]|$)/.test(text.slice(end, end + 48))
    )
  if (isColumn(text, name.start)) return isLast(text, end)
  if (!beforeName().test(text.slice(Math.max(0, name.start - 96), name.start))) return false
  return isQuoted || /^(?:\\{1,7}[nr]|[\r\n"]|$)/.test(text.slice(end, end + 8)) || isVariableName(name)
}

/** Whether they are a row of two columns, below a rule of dashes, as `vault kv get` prints it. */
const isColumn = (text: string, start: number): boolean =>
  /(?:^|[\r\n]|\\{1,7}[nr])[\w.-]{1,40} {2,40}[^ ]/y.test(text.slice(start - 1, start + 84)) &&
  /-{3} {2,40}-{3,40}(?:[\r\n]|\\{1,7}[nr])/.test(text.slice(Math.max(0, start - 400), start))

/** Whether the word found at `at` ends a name that may take a value after a blank. */
function isTaken(text: string, at: number): boolean {
  let start = at
  while (at - start < 40 && /[\w-]/.test(text[start - 1] ?? " ")) start--
  if (text[start - 1] === "\\" && "nrt".includes(text[start]!)) start++
  return (
    text[start] === "-" ||
    /^(?:requirepass|masterauth|bindpw|(?:store|key)Password)/.test(text.slice(start, start + 13)) ||
    isColumn(text, start) ||
    beforeName().test(text.slice(Math.max(0, start - 96), start))
  )
}

/** Whether a command stands before the name that takes its value after a blank. */
const hasTaker = (text: string, name: Name): boolean =>
  beforeName().test(text.slice(Math.max(0, name.start - 96), name.start))

const isVariableName = (name: Name): boolean => /^[A-Z][A-Z_\d]+$/.test(name.text)
