/** Tells values that may be secrets from names, words, code and what examples contain instead of a value. Pure. */
import { hasFewer } from "./variety.ts"

/** Longer values are judged by their beginning. */
const JUDGED = 256

/**
 * The pairs of letters that are most common in words and names. In them, three pairs of four are among these; in random
 * letters, one of six.
 */
const PAIRS =
  " th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le sa si ar ve ra ur co me ne ec ic ro li ri io nc ma om ho ce el us ss ta la ac il am un di ch po ns tr em pe pr rs ai ul ct ly ut ig im ke mo id ey ge tu ie ev ag ts ck fi lo ap ex ab ue sh wo rd so su ot no fo ca pa rt up ad ay ld ll ub mp be ip ol ov "
let pairs: Set<string> | undefined

/** The share of a text's pairs of characters that are common in words. */
export function wordiness(text: string): number {
  pairs ??= new Set(PAIRS.trim().split(" "))
  const judged = text.slice(0, JUDGED)
  const lower = judged.toLowerCase()
  let common = 0
  for (let n = 1; n < lower.length; n++) {
    // A capital begins a word.
    const begins = judged[n] !== lower[n] && judged[n - 1] === lower[n - 1]
    if (!begins && pairs.has(lower.slice(n - 1, n + 1))) common++
  }
  return common / Math.max(1, lower.length - 1)
}

/** Random text that has a digit in every few characters stays below this, names and sentences do not. */
const WORDY = 0.3

/** What examples and templates contain instead of a value, and code. */
const reference = (): RegExp =>
  /^(?:\$[\w{(]|\\{0,7}\$\{|%[({A-Z%]|<|\{\{|\{[\w.]{0,64}\}$|@?\[|#\{|&|!(?:Ref|Sub|vault|secret)|\(|(?:process|os|env|self|this|config|settings|req|ctx|args|props|params|options|data|vault|secrets?|var|local|module|ENV|ssm|arn|op|file|https?)(?:[.[]|::|:\/))/i
const typeOrNothing = (): RegExp =>
  /^(?:true|false|null|none|nil|undefined|string|str|number|boolean|optional|required|text|password|passwd|secret|token|key|apikey|changeme|change_?it|redacted|hidden|masked)(?:\b|[!?*;,)\]}>|]|\[\])*$/i
const standIn = (): RegExp =>
  /^(?:your?|my|the|some|insert|replace|change|enter|example|sample|dummy|fake|test|placeholder|redacted|hidden|masked|foo|bar)(?:[-_ ]|me\b|$)|x{4}|\.{3}|_here\b|-here\b|\bexample\b|placeholder|EXAMPLE|changeme|redacted/i
/** Words of which examples make a password. */
const exampleWords = (): RegExp =>
  /^(?:(?i:super|very|really|so|such|ultra|top|a|an|is|not|this|my|your|our|some|the|secret|secure|insecure|safe|unsafe|strong|weak|long|random|plain|example|sample|test|dummy|fake|real|good|bad|new|old|user|db|pass(?:word|wd|phrase|wort)?|word|pwd|key|token)(?:[-_ .]|(?=[A-Z])|$)){2,}[!.?]?$/

/** `super-secure-pa$$word`: words for a password, perhaps with marks and digits for letters. */
function isExampleWords(value: string): boolean {
  if (value.length < 8 || value.length > 48 || /\d{2}/.test(value)) return false
  const plain = value.replace(
    /[$@0135]/g,
    (one) => ({ $: "s", "@": "a", 0: "o", 1: "i", 3: "e", 5: "s" })[one] ?? one,
  )
  return /pass|pwd|secret|secure|token|key/i.test(plain) && exampleWords().test(plain)
}

/** An alphabet, or the digits in order. */
const sequence = (): RegExp => /abcdefghij|0123456789/i
const expression = (): RegExp =>
  /^(?:[A-Za-z_$][\w$]*(?:\.|\?\.|::|->))+[\w$]+(?:\(|\[|$)|^\*?[A-Za-z_$]+\((?!\w+\)\w)|^[\w$.]+\((?:[\w$.,\s"'\\]*\)(?!\w)|$)|^[\w$]+\[\d+\]|=>|^!!|^![\w$]+[.,]|\$\{[\w.:()[\]"' -]{1,64}\}|\{\{ ?[\w.]{1,64} ?(?:\}\}|\|)|\s[+?]\s|\|\||&&|\/\*|\)\(|\}\)|\[[\^A]|^[-+!]?[\d.,_]+(?:e[-+]?\d+)?$|^0x[0-9a-f]+$|^#[0-9a-f]{3,8}$/i

export function isPlaceholder(value: string): boolean {
  const start = value.slice(0, JUDGED)
  return (
    reference().test(start) ||
    typeOrNothing().test(start) ||
    sequence().test(start) ||
    isExampleWords(start) ||
    (standIn().test(start) &&
      wordiness(start) > 0.15 - 0.05 * Number(/\d{3}/.test(start)) &&
      !/\d{4}/.test(start)) ||
    hasFewer(/^(?:[a-z]{6,12}|\d{6,12})$/.test(start) ? 3 : 4, start)
  )
}

const notRandom = (): RegExp =>
  /^-?[\d.]+e[+-]?\d+$|^\d{4}-\d\d-\d\d|^(?:[0-9a-f]{2}:){3}|^(?:https?:|[A-Z]:\\|[a-z]+:\/\/)|^(?:MFkw|MIIB|MIGf|AAAA[BCE])|\.(?:[jt]sx?|json|py|go|rs|md|ya?ml|toml|sh|pem|key|crt|html?|css|png|svg)$|^(?:sha\d+-|urn:|data:)|^v?\d+(?:\.\d+)+(?:[-+]|$)/i
const uuid = (): RegExp => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Whether it may be a key or token of an unknown format: long, mixed and without words. */
export function isRandom(value: string, least = 16): boolean {
  if (value.length < least) return false
  const start = value.slice(0, JUDGED)
  if (!/^[\w.~+/%=:@!$^*-]+$/.test(start) || !/[A-Za-z]/.test(start) || notRandom().test(start)) return false
  const words = wordiness(start)
  if (/^[A-Z]{20,64}$/.test(start)) return words < WORDY
  if (
    words >= (isMingled(start) ? WORDY + 0.12 : WORDY) ||
    (!/\d/.test(start) && !(words < 0.2 && isShuffled(start)))
  )
    return false
  // A name with a number has long runs of letters or digits.
  if (/[a-z]{9}|[A-Z]{9}|^\.{0,2}\//.test(start) && words > 0.2 && !/^[A-Z\d]{20,64}$/.test(start))
    return false
  return start.length >= least && entropy(start) >= (start.length < 16 ? 2.5 : 3)
}

export const isUuid = (value: string): boolean => uuid().test(value)

/** Whether every second or third character is of another sort than the one before it. */
function isMingled(value: string): boolean {
  let changes = 0
  for (let at = 1; at < value.length; at++)
    if (sortOf(value.charCodeAt(at)) !== sortOf(value.charCodeAt(at - 1))) changes++
  return changes > value.length * 0.42
}

const sortOf = (code: number): number => (code < 0x3a ? 0 : code < 0x5b ? 1 : code > 0x60 ? 2 : 3)

/** For values without a digit: base64 has a capital after every fourth letter, camel case after every sixth. */
const isShuffled = (value: string): boolean =>
  value.length >= 20 && (value.match(/[a-z][A-Z]/g) ?? []).length > value.length / 7

const counts = new Uint32Array(256)

/** Shannon entropy in bits per character. */
function entropy(value: string): number {
  counts.fill(0)
  for (let n = 0; n < value.length; n++) counts[value.charCodeAt(n) & 0xff]!++
  let bits = 0
  for (let code = 0; code < counts.length; code++) {
    const share = counts[code]! / value.length
    if (share > 0) bits -= share * Math.log2(share)
  }
  return bits
}

/** What is said of passwords, and what is no password but contains a digit. */
const saidOf = (): RegExp =>
  /^(?i:(?:base|utf-?|latin|sha-?|md|aes-?|rsa-?|http|oauth|argon|pbkdf|x|ed|v|step|version|type|option|level|part|arg|param|str|int|uint|user|test|key|token|pass|password|passwd|pwd|secret|var|val|value|field|line|page|item|row|col|index|id)[-_]?\d{1,6}\w?|\d+[-_]?(?:bits?|bytes?|chars?|characters?|digits?|letters?|times?|years?|days?|hours?|min(?:utes)?|s|ms|kb|mb|k|th|st|nd|rd|px|em|rem|x|%))$|^[A-Z]{1,3}-?\d{1,4}$/

/** Whether a bare word looks like a password: of more than one sort of character, and no code. */
export function isMixed(value: string): boolean {
  const start = value.slice(0, JUDGED)
  return (
    start.length >= 6 &&
    (/\d/.test(start)
      ? /[A-Za-z]|[^\w.,:-]/.test(start)
      : /[@#$%^*+~]|[!?&]\w/.test(start) && /[A-Za-z]/.test(start)) &&
    !saidOf().test(start) &&
    !expression().test(start) &&
    !/^[\w$]+(?:\.\w+)+$|\?$|^--?[a-z]|^[\d:.,/-]+$|^\*|[({]$/.test(start) &&
    !isNamed(start) &&
    !(/^[A-Za-z_$][\w$.]{5,}\([\w$.,]*\)?$/.test(start) && wordiness(start) >= WORDY)
  )
}

/** Whether it is words joined by marks, as names and paths are. */
const isNamed = (value: string): boolean =>
  /^[\w./:$?&=-]+$/.test(value) &&
  (/[_./:-]/.test(value) || (value.length > 15 && /[a-z][A-Z]/.test(value))) &&
  wordiness(value) >= 0.4

/** What settings contain besides passwords, and the passwords of every example. */
const ordinary = (): RegExp =>
  /^(?:yes|no|on|off|any|all|both|new|old|set|unset|ok|failed|enabled|disabled|required|optional|prompt|ask|default|plain|encrypted|hashed|hash|empty|unknown|in?valid|incorrect|wrong|missing|expired|accepted|denied|changed|updated|reset|admin|root|guest|test(?:ing)?|user(?:name)?|example|postgres|mysql|redis|mongo|rabbitmq|minio|foo(?:bar)?|bar|baz|abc|qwerty|varchar|char|bytes?|text|input|field|label|object|array|function|value|self|static|public|private|protected|readonly|const|return|await|async|yield|import|void|unicode|buffer|symbol|date|file|env|vault|keyring|external|internal|manual|auto|simple|basic|digest|bearer|cleartext|clear|md5|scram|trust|peer|ident|sensitive|confidential|[\w-]*passw(?:or)?d|[\w-]*secret)$/i

/** Whether it is one word that may be a password in settings. */
export const isWord = (value: string): boolean =>
  /^[a-z]{5,64}$/.test(value) && !ordinary().test(value) && !typeOrNothing().test(value)

/** Labels and messages, as in `password: "Enter your password"`. */
const isProse = (value: string): boolean =>
  /^[A-Z]?[a-z']*[ ,.:\u0080-\u00ff]/.test(value) && !/\d/.test(value)

/** Whether it is one word of random letters, longer than words whose letters are as rare. */
export const isLetters = (value: string): boolean =>
  /^(?:[a-z]{14,64}|[A-Z]{14,64})$/.test(value) && wordiness(value) < 0.34

/** Whether it is words of random letters, as some passphrases are. */
export const isPhrase = (value: string): boolean =>
  /^[a-z]{3,12}(?: [a-z]{3,12}){3,7}$/.test(value) && wordiness(value.replaceAll(" ", "")) < 0.27

/** Whether a quoted value looks like a password. */
export function isQuotedPassword(value: string): boolean {
  const start = value.slice(0, JUDGED)
  if (start.length < 4 || /^\s|\s$|\\{1,7}[nrt]|\n/.test(start) || !/^\S+(?: \S+){0,5}$/.test(start))
    return false
  if (isPhrase(start)) return true
  if (isProse(start) || saidOf().test(start) || ordinary().test(start) || /[\x80-\xff]/.test(start))
    return false
  const words = wordiness(start)
  if (/^[\w-]+$/.test(start) && !/\d/.test(start))
    return (
      start.length >= 8 && (words < 0.25 || isLetters(start) || /^[a-z]+-[a-z]+-[A-Z][a-z]+$/.test(start))
    )
  if (isNamed(start)) return false
  if (/^[.#/]?[\w-]+$/.test(start) && words >= 0.3 && !/\d/.test(start)) return false
  return /\d|[^\w\s./-]/.test(start) && !(expression().test(start) && (words >= 0.2 || !/\d/.test(start)))
}
