/**
 * Finds secrets that only their surroundings reveal: what is assigned to a password or key, sent in a header, or
 * precedes the host in a URL. Pure.
 */

/**
 * Matches words for secrets and an operator, up to the operator, unless a small number follows, as in token counts. `PWD`
 * before a path is a folder.
 */
export const wordGate = (): RegExp =>
  /(?:(?:pass[wp]|pwd(?![^\w/]{1,20}\/)|secret|token|key|auth)[\w-]{0,24}|(?<!(?<!\\)[a-z])pass)[\\"'`\] ]{0,8}[:=>,](?! ?\d{1,9}[,}\]\\])/gi

/** The value of a header or a command's option, and what it must look like. */
const header = (): RegExp => /[ \t]{0,4}([\w.~+/%=-]{16,})/y
const option = (): RegExp => /(?:word|phrase|wd)?[ ]["'\\]*([^\s"'`\\;&|<>(){}[\]]{6,512})/y
const user = (): RegExp => /["'\\]*[\w.@+-]{1,64}:([^\s"'`\\;&|<>(){}[\]]{6,512})/y

/** What introduces a value without an operator, found by parts of words that rarely occur elsewhere. */
export const INTRODUCTIONS: Readonly<Record<string, () => RegExp>> = {
  "earer ": header,
  "EARER ": header,
  "asic ": header,
  "ASIC ": header,
  "ion: token ": header,
  "--token ": header,
  "--secret ": header,
  "_auth=": header,
  "sig=": header,
  "--pass": option,
  "sshpass -p": option,
  " -u ": user,
  " --user ": user,
}

/** An operator, then a quoted or a bare value. The gate has already matched the operator's first character. */
const quoted = (): RegExp =>
  /[>=]?[ \t]{0,4}(?:\\*["']?value\\*["']?[:=][ \t]{0,2})?(\\*["'`])((?:(?!\1)[^\n]){4,512}?)\1/y
const bareValue = (): RegExp =>
  /[>=]?[ \t]{0,4}(?:(?:bearer|basic|token)[ \t]{1,2})?([^\s"'`\\,;&|<>(){}[\]]{6,512})/iy
/** After a comma, only the value in a name-value pair counts: `"name": "PASSWORD", "value": "…"`. */
const namedValue = (): RegExp =>
  /[ \t]{0,4}\\*["']value\\*["'][ \t]{0,2}[:=][ \t]{0,4}\\*["']([^\n"'\\]{4,512})/y
export interface Value {
  readonly start: number
  readonly end: number
}

/**
 * The value that the gate's match introduces; undefined when there is none or it is no secret.
 *
 * @param start index of the match
 * @param at index after it
 */
export function valueAt(text: string, start: number, at: number): Value | undefined {
  const isPass = /^pass[^wp]/i.test(text.slice(start, start + 5))
  const isSecret = isPass ? isMixed : "pP".includes(text[start]!) ? isPassword : isRandom
  if (isSecret === isRandom && text[at - 1] !== "," && !isLongWord(text, at)) return undefined
  if (text[at - 1] === ",") return valueBehind(namedValue(), 1, text, at, isSecret)
  const value = valueBehind(quoted(), 2, text, at, isSecret)
  // `pass: …` is mostly prose, `DB_PASS=…` is not.
  if (value !== undefined || (isPass && text[start - 1]! + text[at - 1]! !== "_=")) return value
  return valueBehind(bareValue(), 1, text, at, isSecret, true)
}

/** Whether a word as long as a key follows. Mostly it is prose, which has no such words. */
function isLongWord(text: string, at: number): boolean {
  let start = at
  while (" >=\t".includes(text[start]!) && start < at + 8) start++
  const word = text.slice(start, start + 16)
  if (!word.includes(" ")) return true
  const first = word.slice(0, 7).toLowerCase()
  return first === "bearer " || first.startsWith("basic ") || first.startsWith("token ")
}

/**
 * The value after one of the INTRODUCTIONS.
 *
 * @param at index after the introduction
 */
export function introducedAt(text: string, introduction: string, at: number): Value | undefined {
  const regex = INTRODUCTIONS[introduction]!
  return regex === header
    ? valueBehind(header(), 1, text, at, isRandom)
    : valueBehind(regex(), 1, text, at, isPassword, true)
}

function valueBehind(
  regex: RegExp,
  group: 1 | 2,
  text: string,
  at: number,
  isSecret: (value: string, bare: boolean) => boolean,
  bare = false,
): Value | undefined {
  regex.lastIndex = at
  const match = regex.exec(text)
  const value = match?.[group]
  if (match === null || value === undefined || isPlaceholder(value) || !isSecret(value, bare))
    return undefined
  const start = match.index + match[0].lastIndexOf(value)
  const end = start + value.length
  // `key = lib.X509_get_pubkey(…)` is a call.
  return bare && isSecret === isRandom && text[end] === "(" ? undefined : { start, end }
}

/** What examples and templates contain instead of a value, and code. */
const reference = (): RegExp =>
  /^(?:\$|%[({A-Z]|<|\{|(?:process|os|env|self|this|config|settings|req|ctx|args)\.)/i
const typeOrNothing = (): RegExp =>
  /^(?:true|false|null|none|nil|undefined|string|str|number|boolean|optional|required|text|password|passwd|secret|token)\b/i
const standIn = (): RegExp =>
  /^(?:your|my|the|some|insert|replace|change|enter|example|sample|dummy|placeholder|redacted|hidden|masked)(?:[-_ ]|me\b|$)/i

function isPlaceholder(value: string): boolean {
  return (
    reference().test(value) ||
    typeOrNothing().test(value) ||
    (standIn().test(value) && !/\d{3}/.test(value)) ||
    hasFewer(4, value)
  )
}

/** Whether the value has fewer than this many different characters. */
export function hasFewer(different: number, value: string): boolean {
  let seen = ""
  for (let n = 0; n < value.length && seen.length < different; n++)
    if (!seen.includes(value[n]!)) seen += value[n]
  return seen.length < different
}

/**
 * Whether it may be a password, which is short and may contain anything. A bare one must not look like code or a word
 * in a sentence.
 */
function isPassword(value: string, bare: boolean): boolean {
  if (!bare) return !/^\s|\s$/.test(value) && /^\S+( \S+){0,5}$/.test(value) && !isProse(value)
  if (/^[a-z]{12,}$/.test(value)) return true
  return (
    /\d|[@#$%^*+~]|[!?]\w/.test(value) &&
    !/^[\d.]+$/.test(value) &&
    !/^[\w$]+(?:\.\w+)+$/.test(value) &&
    !value.endsWith("?")
  )
}

/** For what `pass` introduces, as that is also an ordinary word. */
const isMixed = (value: string): boolean =>
  /[A-Za-z]/.test(value) && !/^[a-z]+$|\s/.test(value) && isPassword(value, true)

/** Labels and messages, as in `password: "Enter your password"`. */
const isProse = (value: string): boolean =>
  (/^[A-Za-z][a-z]*[ ,.:…]/.test(value) && !/\d/.test(value)) ||
  (/^[a-z]+(?:[-_.][a-z]+)*$/i.test(value) && value.length < 8)

/** Whether it may be a key or token of an unknown format: long, mixed and without words. */
function isRandom(value: string): boolean {
  if (value.length < 16 || /\s/.test(value) || !/[A-Za-z]/.test(value)) return false
  if (!/\d/.test(value) && !isShuffled(value)) return false
  if (/^-?[\d.]+e[+-]?\d+$/i.test(value)) return false
  if (/^(?:https?:|\.{0,2}\/|[\w.-]+\.(?:[jt]sx?|json|py|go|rs|md|ya?ml|toml|sh)$)/.test(value)) return false
  return entropy(value) >= 3
}

/** For values without a digit: base64 has a capital after every fourth letter, camel case after every sixth. */
const isShuffled = (value: string): boolean =>
  value.length >= 20 && (value.match(/[a-z][A-Z]/g) ?? []).length > value.length / 5

const counts = new Uint32Array(256)

/**
 * Shannon entropy in bits per character. Uses a table because a run of `key:key:…` is examined again from each of its
 * operators.
 */
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

const userInfo = (): RegExp => /:\/\/[^\s"'`\\/@:?#<>]{0,64}:([^\s"'`\\/@<>]{2,256}|[^\s"'`\\@<>]{2,256})@/y
const webhooks = (): RegExp =>
  /:\/\/(?:hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/([\w/+-]{20,})|(?:\w+\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/(\d+\/[\w-]{30,})|[\w.-]*webhook\.office\.com\/webhookb2\/([\w@/-]{40,})|hooks\.zapier\.com\/hooks\/catch\/(\d+\/\w+)|[\w.-]+\.logic\.azure\.com[\w:/.?=&%-]*[?&]sig=([\w%-]{20,}))/y

/**
 * The password in a URL, or the secret path of a web hook.
 *
 * @param at index of `://`
 */
export function urlSecretAt(text: string, at: number): Value | undefined {
  for (const kind of [userInfo, webhooks]) {
    const regex = kind()
    regex.lastIndex = at
    const match = regex.exec(text)
    const value = match?.slice(1).find((one) => one !== undefined)
    if (match === null || value === undefined) continue
    if (kind === userInfo && (isPlaceholder(value) || /^(?:pass(?:word)?|pwd|pw)$/i.test(value)))
      return undefined
    const start = match.index + match[0].lastIndexOf(value)
    return { start, end: start + value.length }
  }
  return undefined
}
