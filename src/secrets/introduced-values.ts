/**
 * Finds secrets after commands, headers and statements that take them without a name, and after the words for them in
 * languages whose words are not found in code. Pure.
 */
import { joinedAt } from "./assignment.ts"
import { isChosen, isOpaque, isSpokenPhrase, isWords, phraseAt, seedsAt } from "./chosen.ts"
import { jointAt } from "./joint.ts"
import type { Introduction } from "./seek.ts"
import { isMixed, isPlaceholder, isQuotedPassword, isRandom, wordiness } from "./value.ts"
import { bareAt, pastMarks, quotedAt, type Value } from "./value-end.ts"

/** A header's value. */
const header = (): RegExp => /[ \t]{0,4}\\{0,7}["']?(?=[\w.~+/%=$!^*:-]{8}|[a-z]{3,7} [a-z]{3})/y
const user = (): RegExp => /(\\{0,7}["'])?[\w.@+-]{0,64}:/y
/** `docker login …`, `login: name / …` */
const passwordOption = (): RegExp =>
  /: [\w.@+-]{1,64} \/ |[ ](?:[^\n;|&\\]{0,160}?[ ])?(?:-p|--password)[ =]/y

const passwordArgument = (): RegExp => /[^\n;|&\\]{0,160}?[ ](?:-p|--password)[ =]/y

/** What is so long and random is no user's name but a token. */
const login = (): RegExp =>
  /\\{0,7}["'\]]{0,2}(?:[ \t]{0,8}(?::=|\?=|=>?|[:|>,]| is)|[ ])[ \t]{0,8}\\{0,7}["'`]{0,2}(?=[\w+/=-]{32})/y

/** What stands between an introduction and its value. */
const VALUES: Readonly<Partial<Record<Introduction, () => RegExp>>> = {
  "earer ": header,
  "asic ": header,
  "-u ": user,
  "--user ": user,
  "--pass": () => /(?:word|phrase|wd)?[ ]/y,
  sshpass: () => /[ ]{1,4}-p[ ]?/y,
  mysql: () => /(?:dump|admin)?[^\n;|&\\]{0,160}?[ ]-p(?=[^ ])/y,
  mongosh: passwordArgument,
  mongodump: passwordArgument,
  ogin: passwordOption,
  OGIN: passwordOption,
  eporter: passwordOption,
  EPORTER: passwordOption,
  // Spanish and Portuguese: clave, senha.
  lave: () => /(?: (?:de|del|para) [\w.@-]{1,24})?(?: es:?|:)[ ]/y,
  enha: () => /(?: (?:de|do|da|para) [\w.@-]{1,24})?(?: (?:\xc3\xa9|e):?|:)[ ]/y,
  "redis-cli": () => /[^\n;|&\\]{0,160}?[ ]-a[ ]/y,
  htpasswd: () => /[ ]-(?:n\w{0,8}b|b\w{0,8}n|\w{0,8}b\w{0,8}[ ][^\s\\]{1,120})[ ][^\s\\]{1,120}[ ]/y,
  "net use ": () => /(?:[^\s]{1,120} ){1,2}/y,
  SecureString: () => /[ ](?:-String[ ])?(?=\\{0,7}["'])/y,
  "DENTIFIED BY ": () => /(?:PASSWORD )?(?=\\{0,7}["'])/y,
  "dentified by ": () => /(?:password )?(?=\\{0,7}["'])/y,
  "*:*:": () => /[\w*.-]{1,64}:[\w*.-]{1,64}:/y,
  ":5432:": () => /[\w*.-]{1,64}:[\w*.-]{1,64}:/y,
}

/**
 * The values after one of the introductions.
 *
 * @param at index after the introduction
 */
export function introducedAt(text: string, introduction: Introduction, at: number): readonly Value[] {
  switch (introduction) {
    case "WIFI:":
    case "ifi:":
      return listOf(networkAt(text, at))
    case "mnemonic":
    case "Mnemonic":
    case "MNEMONIC":
    case "BIP39":
      return seedsAt(text, at)
    case "hrase":
    case "HRASE":
      return phrasesAt(text, at)
    case "--from-literal":
      return listOf(literalAt(text, at))
    case "nssl":
      return argumentsOf(text, "openssl", at)
    case '-u"':
    case "-u\\":
    case "-u'":
    case '--user"':
    case "--user\\":
    case "--user'":
    case "--user=": {
      // What precedes the option is not read again for each of many.
      const from = Math.max(0, at - 240)
      const command = text.slice(from, at).lastIndexOf("curl")
      return command < 0 ? [] : argumentsOf(text, "curl", from + command + 4)
    }
    default: {
      const value = valueBehind(text, introduction, at)
      return value === undefined ? argumentsOf(text, introduction, at) : [value]
    }
  }
}

const listOf = (value: Value | undefined): Value[] => (value === undefined ? [] : [value])

function valueBehind(text: string, introduction: Introduction, at: number): Value | undefined {
  if (introduction === "OGIN") return joinedAt(text, at, isHex)
  if (introduction === "eporter" || introduction === "EPORTER")
    return /^[ ._-]?id/i.test(text.slice(at, at + 3))
      ? joinedAt(text, at + (/[a-z]/i.test(text[at]!) ? 2 : 3), isHex)
      : undefined
  if (introduction === "ogin")
    return loginAt(text, at) ?? joinedAt(text, at, isHex) ?? behind(text, at, introduction, passwordOption)
  const kind = VALUES[introduction]
  return kind === undefined ? undefined : behind(text, at, introduction, kind)
}

/** No name of a user, and no number of a record, is so long. */
const isHex = (value: string): boolean => /^[0-9a-f]{40,64}$/.test(value) && /[a-f]/.test(value)

function loginAt(text: string, at: number): Value | undefined {
  const regex = login()
  regex.lastIndex = at
  const value = regex.test(text) ? bareAt(text, regex.lastIndex, "word") : undefined
  return value !== undefined && isKey(text.slice(value.start, value.end)) ? value : undefined
}

function behind(text: string, at: number, introduction: Introduction, kind: () => RegExp): Value | undefined {
  const regex = kind()
  regex.lastIndex = at
  const match = regex.exec(text)
  if (match === null) return undefined
  const start = regex.lastIndex
  if (kind === user && match[1] !== undefined) {
    const whole = quotedAt(text, at)
    if (whole === undefined) return undefined
    const isOfCurl = isCommand(text, at, introduction) && isReal(text.slice(start, whole.end))
    return isOfCurl ? { start, end: whole.end } : passwordIn(text, { start, end: whole.end }, true)
  }
  if (kind === header) {
    const phrase = isAuthorization(text, at) ? phraseAt(text, start) : undefined
    if (phrase !== undefined) return phrase
    const value = bareAt(text, start, "word")
    if (value === undefined) return undefined
    const key = text.slice(value.start, value.end)
    return isKey(key) || (!isPlaceholder(key) && isOpaque(key) && isAuthorization(text, at))
      ? value
      : undefined
  }
  const quoted = quotedAt(text, start)
  if (quoted !== undefined)
    return (
      passwordIn(text, quoted, true) ??
      ((TAKING.includes(introduction) || isCommand(text, at, introduction)) &&
      isReal(text.slice(quoted.start, quoted.end))
        ? quoted
        : undefined)
    )
  const isLine = introduction === ":5432:" || introduction === "*:*:"
  if (isLine && !lineOf().test(text.slice(Math.max(0, at - 96), at))) return undefined
  const bare = (isLine ? phraseAt(text, start) : undefined) ?? bareAt(text, start, isLine ? "line" : "word")
  if (bare === undefined) return undefined
  const taken =
    isLine ||
    introduction === "sshpass" ||
    introduction === "redis-cli" ||
    introduction === "mysql" ||
    introduction.startsWith("mongo") ||
    isCommand(text, at, introduction)
  if (taken && isReal(text.slice(bare.start, bare.end))) return bare
  return passwordIn(text, bare, false)
}

/** After these, nothing but a password follows. */
const TAKING: readonly string[] = [
  "sshpass",
  "redis-cli",
  "mysql",
  "mongosh",
  "mongodump",
  "DENTIFIED BY ",
  "dentified by ",
  "SecureString",
]

/** The beginning of a line of .pgpass, up to its port. */
const lineOf = (): RegExp =>
  /(?:^|[\r\n"'`]|\\{1,7}[nrt]|[ \t])[\w*.-]{0,80}[:*]{3,6}$|(?:^|[\s"'`]|\\{1,7}[nrt])[\w*.-]{1,80}:5432:$/

const isReal = (value: string): boolean =>
  !isPlaceholder(value) && (isChosen(value, false) || isOpaque(value) || isWords(value))

/** Whether what takes a word as its password is a command. */
function isCommand(text: string, at: number, introduction: Introduction): boolean {
  const before = text.slice(Math.max(0, at - 160), at)
  if (introduction === "-u " || introduction === "--user ") return /\bcurl [^\n|;]{0,140}$/.test(before)
  return (
    introduction === "ogin" && /\b(?:docker|podman|helm registry|oc|az|skopeo) l$/.test(before.slice(0, -4))
  )
}

const isAuthorization = (text: string, at: number): boolean =>
  /uthorization\\{0,7}["']?(?:\]?\s?[:=,]|\s|, ?\\{0,7}"value\\{0,7}":)\s?\\{0,7}["']?[BbTtAaOo]\w{0,7}.$/.test(
    text.slice(Math.max(0, at - 48), at),
  )

const isKey = (value: string): boolean => isRandom(value, 14) && !isPlaceholder(value)

function passwordIn(text: string, found: Value, isQuoted: boolean): Value | undefined {
  const value = text.slice(found.start, found.end)
  if (isPlaceholder(value)) return undefined
  if (isQuoted ? isQuotedPassword(value) || isMixed(value) : isMixed(value) || isLetterRun(value))
    return found
  return undefined
}

const isLetterRun = (value: string): boolean => /^[a-z]{12,64}$/.test(value) && wordiness(value) < 0.3

/** `echo … | docker login --password-stdin`, told backwards from the option. */
const echoed = (): RegExp =>
  /(?:echo|printf)(?: -n| %s)? (?=(?:\\{0,7}["'][^\n]{4,200}["'] ?|[^|]{4,200})\|[^|\n]{0,160}$)/

/** @param at index of `--password-stdin` or `sudo -S` */
export function echoedBefore(text: string, at: number): Value | undefined {
  const from = Math.max(0, at - 400)
  const before = text.slice(from, at)
  const match = echoed().exec(before)
  if (match === null) return undefined
  const start = from + match.index + match[0].length
  const quoted = quotedAt(text, start)
  const found = quoted ?? bareAt(text, start, "word")
  if (found === undefined || found.end > at) return undefined
  const isPhrase = quoted !== undefined && isSpokenPhrase(text.slice(quoted.start, quoted.end))
  return isPhrase ? quoted : passwordIn(text, found, quoted !== undefined)
}

/** Up to three words, then what joins a value: a colon, a dash, a blank, or a word for "is". */
const spokenJoint = (): RegExp =>
  /[\x80-\xff]{0,16}?\*{0,2}(?: [\x80-\xff]{1,24}){0,3}?(?: (?:de|del|do|da|para|\xd0\xbe\xd1\x82|\xd0\xb4\xd0\xbb\xd1\x8f) [\w.@-]{1,24})?(?: ?(?:[:=]|\xef\xbc\x9a|\xe2\x80\x94|\xe6\x98\xaf|\xe4\xb8\xba|\xe3\x81\xaf| \xc3\xa9| es| ist| lautet| -):?)?\*{0,2} {0,3}(?=[!-~]{4})/y

/** @param at index after one of the words */
export function spokenAt(text: string, at: number, isKey: boolean): Value | undefined {
  const regex = spokenJoint()
  regex.lastIndex = at
  if (!regex.test(text)) return undefined
  const start = regex.lastIndex
  const found = quotedAt(text, start) ?? bareAt(text, start, "ascii")
  if (found === undefined) return undefined
  const value = text.slice(found.start, found.end)
  if (isPlaceholder(value)) return undefined
  return (isKey ? isRandom(value) : isMixed(value)) ? found : undefined
}

/** The fields of a network's address up to its password; a backslash stands before a semicolon that ends no field. */
const network = (): RegExp =>
  /(?:[TSHREAI]{1,3}:(?:[^;\\\r\n]|\\{1,15}[;:,"'\\]){0,160};){0,6}P:\\{0,7}["']?(?=[^;\\"'\s])/y
const networkPassword = (): RegExp => /(?:[^;\\"\r\n]|\\{1,15}[;:,])+/y

/** `WIFI:T:WPA;S:name;P:password;;`, as a QR code has it. */
function networkAt(text: string, at: number): Value | undefined {
  const fields = network()
  fields.lastIndex = at
  if (!fields.test(text)) return undefined
  const start = fields.lastIndex
  const password = networkPassword()
  password.lastIndex = start
  if (!password.test(text) || password.lastIndex - start > 256) return undefined
  return isPlaceholder(text.slice(start, password.lastIndex)) ? undefined : { start, end: password.lastIndex }
}

/** What stands before `phrase` when a wallet's words follow, and when a password does. */
const ofSeed = (): RegExp => /(?:seed|recovery|backup|mnemonic|wallet|bip-?39|\d\d[ -]words?)[ _-]?p$/i
const ofPass = (): RegExp => /\bpass[ _-]p$/i

function phrasesAt(text: string, at: number): readonly Value[] {
  const before = text.slice(Math.max(0, at - 21), at - 5)
  if (ofSeed().test(before)) return seedsAt(text, at)
  if (!ofPass().test(before)) return []
  const quoted = joinedQuoted(text, at)
  return quoted !== undefined && isSpokenPhrase(text.slice(quoted.start, quoted.end)) ? [quoted] : []
}

function joinedQuoted(text: string, at: number): Value | undefined {
  const joint = jointAt(text, at)
  return joint === undefined ? undefined : quotedAt(text, joint.at)
}

/*
 * Finds secrets among the arguments of commands that take them without a name, as a shell has them, in a list of strings
 * (`["mysql", "-p…"]`), or one below the other in YAML. Pure.
 */

/** What a command takes. */
interface Taking {
  /** Options whose value is the next argument, or joined to them. */
  readonly options: readonly string[]
  /** Whether the value is always joined to the option, and the next argument is something else; or never. */
  readonly isJoined?: boolean
  /** What stands in the value before the secret. */
  readonly before?: RegExp
}

const MYSQL: readonly Taking[] = [{ options: ["-p", "--password="], isJoined: true }]
const MONGO: readonly Taking[] = [{ options: ["-p", "--password"], isJoined: false }]

/** By what their names end in, as INTRODUCTIONS has it. */
const COMMANDS: Readonly<Record<string, readonly Taking[]>> = {
  mysql: MYSQL,
  mariadb: MYSQL,
  sshpass: [{ options: ["-p"] }],
  mongosh: MONGO,
  mongodump: MONGO,
  "redis-cli": [{ options: ["-a", "--pass"], isJoined: false }],
  ogin: [{ options: ["-p", "--password"] }],
  curl: [
    { options: ["-u", "--user", "-U", "--proxy-user"], before: /^[^\s:"'`\\]{0,64}:/ },
    { options: ["--pass", "--proxy-pass"] },
  ],
  "ssh-keygen": [{ options: ["-N", "-P"] }],
  openssl: [
    { options: ["-k", "-K"], isJoined: false },
    { options: ["-pass", "-passin", "-passout", "-password"], isJoined: false, before: /^pass:/ },
  ],
}

/** Arguments of one command that are looked at. */
const MOST_ARGUMENTS = 48

/**
 * The secrets among the arguments of a command.
 *
 * @param at index after what its name ends in
 */
function argumentsOf(text: string, command: string, at: number): Value[] {
  if (command === "htpasswd") return passwordOfList(text, at)
  const takings = COMMANDS[command]
  if (takings === undefined) return []
  const found: Value[] = []
  let waiting: Taking | undefined
  for (const word of wordsOf(text, at)) {
    const written = text.slice(word.start, word.end)
    if (waiting !== undefined) {
      const value = within(text, word, waiting)
      if (value !== undefined) found.push(value)
      waiting = undefined
      continue
    }
    if (written[0] !== "-") continue
    for (const taking of takings) {
      const option = taking.options.find((one) => isOption(written, one))
      if (option === undefined) continue
      if (written === option) {
        if (!taking.isJoined) waiting = taking
      } else if (taking.isJoined !== false) {
        const past = word.start + option.length + (written[option.length] === "=" ? 1 : 0)
        const quoted = quotedAt(text, past)
        const value = within(text, { start: past, end: word.end, ...quoted, isQuoted: word.isQuoted }, taking)
        if (value !== undefined) found.push(value)
      }
    }
  }
  return found
}

/** `["htpasswd", "-b", file, user, password]`; with `-n` there is no file. */
function passwordOfList(text: string, at: number): Value[] {
  const words = [...wordsOf(text, at)].map((word) => ({ ...word, written: text.slice(word.start, word.end) }))
  const options = words.flatMap(({ written }) => (/^-[a-zA-Z]+$/.test(written) ? [written] : [])).join("")
  const password = words.filter(({ written }) => !written.startsWith("-"))[options.includes("n") ? 1 : 2]
  return options.includes("b") && password !== undefined && isArgument(password.written, password.isQuoted)
    ? [{ start: password.start, end: password.end }]
    : []
}

/** `-p`, `-pVALUE`, `--user`, `--user=VALUE`. */
const isOption = (written: string, option: string): boolean =>
  written === option ||
  (written.startsWith(option) &&
    (option.length === 2 || option.endsWith("=") || written[option.length] === "="))

function within(text: string, { start, end, isQuoted }: Argument, { before }: Taking): Value | undefined {
  const length = before === undefined ? 0 : before.exec(text.slice(start, end))?.[0].length
  if (length === undefined) return undefined
  return isArgument(text.slice(start + length, end), isQuoted) ? { start: start + length, end } : undefined
}

/** Whether it may be a secret where a command plainly takes one. */
const isArgument = (value: string, isQuoted: boolean): boolean =>
  value.length > 3 &&
  !/^[-<[$%{]|\$\{|\.\.\./.test(value) &&
  !isPlaceholder(value) &&
  (isChosen(value, isQuoted) ||
    isOpaque(value) ||
    isMixed(value) ||
    isWords(value) ||
    /^[\dA-F]{32,64}$/i.test(value) ||
    (isQuoted && (isQuotedPassword(value) || isSpokenPhrase(value))))

interface Argument extends Value {
  readonly isQuoted: boolean
}

/** What stands between the strings of a list: a comma, brackets, and the beginning of a line of a file, a diff or a patch. */
const between = (): RegExp =>
  /\\{0,7}["'](?:[ \t]|\\{1,7}[nrt])*,(?:[ \t\r\n[(]|\\{1,7}[nrt]|","|\d{1,6}(?:\xe2\x86\x92|:)|[-+] ){0,40}(?=\\{0,7}["'])/y
/** A line break with what a file, a diff or a patch puts before an element of YAML. */
const element = (): RegExp =>
  /\\{0,7}["']?(?:(?:\r?\n|\\{1,7}(?:r\\{1,7})?n|",")(?:[-+ ]|\d{1,6}(?:\xe2\x86\x92|:|\t|\\{1,7}t)|[ \t])[ \t]{0,24}|[ \t]{0,24}(?:\r?\n|\\{1,7}(?:r\\{1,7})?n|",")[-+]?[ \t]{0,24})(?:\d{1,6}(?:\xe2\x86\x92|:|\t|\\{1,7}t)[ \t]{0,24})?- /y

function* wordsOf(text: string, at: number): Generator<Argument> {
  let start = at
  while (start < at + 16 && /[\w.-]/.test(text[start] ?? " ")) start++
  const list = between()
  list.lastIndex = start
  if (list.test(text)) return yield* quotedWords(text, list.lastIndex, list)
  const lines = element()
  lines.lastIndex = start
  if (lines.test(text)) return yield* elements(text, lines.lastIndex, lines)
  yield* shellWords(text, start)
}

function* quotedWords(text: string, from: number, list: RegExp): Generator<Argument> {
  let at = from
  for (let n = 0; n < MOST_ARGUMENTS; n++) {
    const quoted = quotedAt(text, at)
    if (quoted === undefined) return
    yield { ...quoted, isQuoted: true }
    list.lastIndex = quoted.end
    if (!list.test(text)) return
    at = list.lastIndex
  }
}

function* elements(text: string, from: number, lines: RegExp): Generator<Argument> {
  let at = from
  for (let n = 0; n < MOST_ARGUMENTS; n++) {
    const quoted = quotedAt(text, at)
    const value = quoted ?? bareAt(text, at, "word")
    if (value === undefined) return
    yield { ...value, isQuoted: quoted !== undefined }
    lines.lastIndex = value.end
    if (!lines.test(text)) return
    at = lines.lastIndex
  }
}

/** Blanks, and a line break behind a backslash. */
const gap = (): RegExp => /(?:[ \t]|\\{1,8}(?:\r?\n|\\{1,7}n)){1,24}/y

function* shellWords(text: string, from: number): Generator<Argument> {
  const blanks = gap()
  let at = from
  for (let n = 0; n < MOST_ARGUMENTS; n++) {
    blanks.lastIndex = at
    if (!blanks.test(text)) return
    at = blanks.lastIndex
    if ("|&;<>#\n".includes(text[at] ?? "\n")) return
    const quoted = quotedAt(text, at)
    const bare = quoted ?? bareAt(text, at, "word")
    if (bare === undefined) return
    yield { ...bare, isQuoted: quoted !== undefined }
    at = bare.end
    // A value that begins bare may go on in quotation marks: `-p"…"`, `--user='…'`.
    if (quoted === undefined) {
      const rest = quotedAt(text, at)
      if (rest !== undefined) {
        if (text[bare.start] === "-") yield { ...rest, isQuoted: true }
        at = rest.end
      }
    }
    at = pastMarks(text, at)
  }
}

const literal = (): RegExp =>
  /(?:=|[ \t]{1,4}|\\{0,7}["'],(?:[ \t]|\\{1,7}[nrt]){0,24})(\\{0,7}["'])?[\w.-]{1,128}=/y

/** `kubectl create secret generic … --from-literal=name=…` @param at index after `--from-literal` */
function literalAt(text: string, at: number): Value | undefined {
  const before = text.slice(Math.max(0, at - 600), at)
  const secret = before.lastIndexOf("secret")
  if (secret < 0 || before.indexOf("configmap", secret) >= 0) return undefined
  const regex = literal()
  regex.lastIndex = at
  const match = regex.exec(text)
  if (match === null) return undefined
  const start = regex.lastIndex
  // The quotation mark before the name ends behind the value.
  const whole =
    match[1] === undefined ? undefined : quotedAt(text, start - match[0].length + match[0].indexOf(match[1]))
  const found =
    whole === undefined ? (quotedAt(text, start) ?? bareAt(text, start, "word")) : { start, end: whole.end }
  if (found === undefined) return undefined
  const value = text.slice(found.start, found.end)
  return value.length > 2 && !isPlaceholder(value) ? found : undefined
}
