/** Whether what stands behind a name is a secret, by the kind of name and how the two are joined. Pure. */
import { isChosen, isIrregular, isOpaque, isSpokenPhrase, isWords } from "./chosen.ts"
import { type How, isOperator } from "./joint.ts"
import type { Name } from "./names.ts"
import { hasTaker, isBesideUser, isPassOption, isPlainlySet, isSetting } from "./settings.ts"
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
import type { Value } from "./value-end.ts"
import { hasFewer } from "./variety.ts"

function hasDigit(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++)
    if (text.charCodeAt(at) > 0x2f && text.charCodeAt(at) < 0x3a) return true
  return false
}

export function isSecret(
  text: string,
  name: Name,
  how: How,
  { start, end }: Value,
  isQuoted: boolean,
): boolean {
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

export const isPhraseName = (name: Name): boolean => /phrase[\W_]*$/i.test(name.text)

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

export const isHeader = (name: Name): boolean => /^authorization$/i.test(name.text)

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
