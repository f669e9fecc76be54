/**
 * Finds secrets among the arguments of commands that take them without a name, as a shell has them, in a list of strings
 * (`["mysql", "-p…"]`), or one below the other in YAML. Pure.
 */
import { isChosen, isOpaque, isSpokenPhrase, isWords } from "./chosen.ts"
import { isMixed, isPlaceholder, isQuotedPassword } from "./value.ts"
import { bareAt, pastMarks, quotedAt, type Value } from "./value-end.ts"

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
export function argumentsOf(text: string, command: string, at: number): Value[] {
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
export function literalAt(text: string, at: number): Value | undefined {
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
