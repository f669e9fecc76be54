/** Which names introduce secrets: `DB_PASSWORD`, `apiKey`, `Client-Secret`, but neither `publicKey` nor `monkey`. Pure. */

/**
 * What may follow. `password`: anything, even short. `secret`: random text, since only secrets have such names. `key`:
 * only what is certainly random, since anything may have such a name. `pin`: six digits or more. `hex`: 32
 * hexadecimal digits.
 */
type Introduced = "password" | "secret" | "key" | "pin" | "hex"

export interface Name {
  readonly kind: Introduced
  readonly start: number
  readonly end: number
  /** As it stands in the text. */
  readonly text: string
}

/** No name that anyone writes is longer. */
const LONGEST = 80

/** Environments, encodings and the like at the end of a name. */
const TAIL =
  " prod production dev development test staging live local base value val b64 base64 hex old new default main primary secondary string str raw plain plaintext text env var private v1 v2 1 2 3 "
const PASSWORDS = " password passwd pwd passphrase passcode passwort kennwort pass pw passe psk authtok "
/** A word before `password` with which it is no password. */
const NO_PASSWORD =
  " forgot reset show hide toggle is has needs need require requires required no invalid wrong missing min max change weak strong update native "
/** A word before `token` or `secret` with which it is none. */
const NO_TOKEN =
  " csrf xsrf idempotency lock next page continuation sync cancel cancellation design syntax max min num n eos bos pad unk mask sep cls special stop input output prompt completion lex css color colour theme start end first last prev previous current delimiter bracket dollar keyword comment injection provider lookahead cursor change watch resume line operator error scope parent child per total is has no the by missing "
const SECRET_KEYS =
  " api secret access auth private encryption encrypt signing sign master shared account license service admin app application client storage subscription webhook session hmac jwt crypto cipher aes deploy stripe openai aws consumer integration server rest write partner merchant security sas live test prod project team org provisioning functions host site developer personal api-key ssh datadog anthropic sendgrid twilio github record ingest gateway wallet recovery unseal cluster gossip vpn "
/** A word before `seed` with which it is one of one-time passwords or of a wallet. */
const SECRET_SEEDS = " totp otp hotp mfa 2fa tfa wallet "
/** Of environments, which may stand behind `PASS`, too. */
const ENVIRONMENTS = " prod production dev development staging live "
/** A word before `key` with which it is none. */
const NO_KEY =
  " public primary foreign sort partition cache hash hot map unique query route react row column index item object i18n translation locale registry idempotency dedupe routing message event group lookup composite shortcut arrow enter pub range meta ctrl alt shift escape delete tab home end composed sorted ordering data array dict json xml next prev last first state legacy is has on no by get for each data natural surrogate candidate super alternate context field form filter menu tree list node entry prop property attr attribute metadata label section child parent cache-control authority identifier thumb "
const gluedIn = (): RegExp =>
  /(?:(api|secret|access|auth|private|master|signing|encryption|account|accesskey|shared|consumer)key|(access|auth|api|bearer|refresh|bot|personal)token|(client|app|api|consumer|shared|cookie|session|jwt|auth|webhook)secret|(password|passwd|passphrase|passwort|kennwort|pwd|(?:store|key|db|user|root|admin|smtp|mail|ssh|become|require)pass|masterauth|(?:bind|root|admin|ldap|user)pw))$/

const isNamePart = (code: number): boolean =>
  (code > 47 && code < 58) ||
  (code > 64 && code < 91) ||
  (code > 96 && code < 123) ||
  code === 0x5f ||
  code === 0x2d ||
  code === 0x2e

/** The last words of names in Java's properties. */
const DOTTED = [".base", ".hash", ".private", ".id", ".prod", ".certificate", ".code"]

const endsWith = (text: string, at: number, part: string): boolean =>
  text.startsWith(part, at) && !isNamePart(text.charCodeAt(at + part.length))

/** Where the name ends that continues at `at`. */
export function nameEnd(text: string, at: number): number {
  let end = at
  while (end - at < LONGEST && isNamePart(text.charCodeAt(end)) && text[end] !== ".") end++
  if (text[end] === ".") for (const part of DOTTED) if (endsWith(text, end, part)) return end + part.length
  return text[end - 1] === "-" && end > at ? end - 1 : end
}

/**
 * The name around a character of a word that the gate has found.
 *
 * @param at index of the character
 * @param end of the name
 */
export function nameAt(text: string, at: number, end: number): Name | undefined {
  let start = at
  while (start > 0 && at - start < LONGEST && isNamePart(text.charCodeAt(start - 1))) start--
  // The letter of an escape, as in `\nPASSWORD`, which the name does not begin with.
  if (text[start - 1] === "\\" && start < at && "nrtbf".includes(text[start]!)) start++
  const name = text.slice(start, end)
  const words = wordsOf(name)
  // `AWS::ApiGateway::ApiKey` is a type.
  if (text.slice(start - 2, start) === "::") return undefined
  const kind = kindOf(words, wordBefore(text, start), text[end])
  return kind === undefined ? undefined : { kind, start, end, text: name }
}

/** The words of a name in any spelling, in lower case. By hand, as a regular expression would have to be compiled. */
function wordsOf(name: string): string[] {
  const words: string[] = []
  let word = ""
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at)
    const isMark = code === 0x5f || code === 0x2d || code === 0x2e
    const isNew = isCapital(code) && (!isCapital(name.charCodeAt(at - 1)) || isSmall(name.charCodeAt(at + 1)))
    if ((isMark || isNew) && word !== "") {
      words.push(word.toLowerCase())
      word = ""
    }
    if (!isMark) word += name[at]
  }
  if (word !== "") words.push(word.toLowerCase())
  return words
}

const isCapital = (code: number): boolean => code > 64 && code < 91
const isSmall = (code: number): boolean => code > 96 && code < 123

/** The word that a blank or a dash separates from the name, as in `api key`. */
function wordBefore(text: string, start: number): string {
  if (text[start - 1] !== " " && text[start - 1] !== "-") return ""
  let from = start - 1
  while (start - from < 18 && (isSmall(text.charCodeAt(from - 1)) || isCapital(text.charCodeAt(from - 1))))
    from--
  return text.slice(from, start - 1).toLowerCase()
}

const has = (list: string, word: string): boolean => list.includes(` ${word} `)

function kindOf(words: string[], preceding: string, next: string | undefined): Introduced | undefined {
  // `password_for_the_shop`
  const purpose = words.indexOf("for")
  if (purpose > 0) words.length = purpose
  while (
    words.length > 1 &&
    has(TAIL, words.at(-1)!) &&
    (words.at(-2) !== "pass" || has(ENVIRONMENTS, words.at(-1)!))
  )
    words.pop()
  const last = words.at(-1) ?? ""
  const isAlone = words.length === 1
  const before = words.at(-2) ?? preceding
  const glued = last.length > 5 ? gluedIn().exec(last) : null
  if (has(PASSWORDS, last) || glued?.[4] !== undefined) {
    return has(NO_PASSWORD, before) && !(isAlone && before === "new") ? undefined : "password"
  }
  if (glued !== null && last !== "pubkey") return "secret"
  if (last.endsWith("salt")) return "secret"
  switch (last) {
    case "token":
    case "secret":
    case "jwt":
    case "credential":
    case "credentials":
    case "creds":
    case "pat":
      if (before === "invalid") return "key"
      return has(NO_TOKEN, before) ? undefined : "secret"
    case "key":
      if (has(SECRET_KEYS, before)) return "secret"
      return has(NO_KEY, before) ? undefined : "key"
    case "hash":
      return before === "api" ? "secret" : undefined
    case "cookie":
      // A header's cookie has a name of its own.
      if (before === "erlang" || before === "session") return "secret"
      return before === "" || before === "set" ? undefined : "key"
    case "seed":
      return has(SECRET_SEEDS, before) ? "secret" : undefined
    case "code":
      return before === "auth" ? "secret" : undefined
    case "pin":
      return before === "" ? undefined : "pin"
    case "appid":
      return "hex"
    case "certificate":
      return before === "app" ? "hex" : undefined
    case "keystring":
      return "secret"
    case "authorization":
      return "key"
    case "auth":
    case "authz":
      return "key"
    case "sig":
    case "signature":
    case "session":
    case "sessionid":
    case "sessid":
    case "sid":
      return next === "=" ? "key" : undefined
    case "id":
      if (before === "app") return "hex"
      return before === "session" && next === "=" ? "key" : undefined
    default:
      return undefined
  }
}
