/** Whether settings plainly give a value to a name: then it may be of any look but that of a reference. Pure. */
import type { How } from "./joint.ts"
import type { Name } from "./names.ts"

const lineStart = (): RegExp =>
  /(?:^|[\r\n"]|\\{1,7}[nr])(?:[ \t]|\\{1,7}t){0,40}(?:\$ |[A-Z]:\\{1,8}> )?(?:(?:export|setx?|ENV|ARG|declare -x|readonly|[-+>]|-e|--env|--build-arg|\d{1,6}[\x80-\xff|:]{1,3}|\d{1,6}\\{1,7}t|\$env:)[ \t]{0,4}){0,2}(?:[\w.-]{1,24}:)?$/

/** Whether the name begins its line, or its string. */
export function isSetting(text: string, { start }: Name): boolean {
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
export function isPlainlySet(
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
export const isPassOption = (text: string, name: Name): boolean =>
  /-pass(?:in|out)? \\{0,7}["']?$/.test(text.slice(Math.max(0, name.start - 16), name.start))

/** Whether a user's name is set in the line before it or in its own: in code, other things are a pass. */
export const isBesideUser = (text: string, name: Name): boolean =>
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
const before = (): RegExp =>
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
  if (!before().test(text.slice(Math.max(0, name.start - 96), name.start))) return false
  return isQuoted || /^(?:\\{1,7}[nr]|[\r\n"]|$)/.test(text.slice(end, end + 8)) || isVariableName(name)
}

/** Whether they are a row of two columns, below a rule of dashes, as `vault kv get` prints it. */
const isColumn = (text: string, start: number): boolean =>
  /(?:^|[\r\n]|\\{1,7}[nr])[\w.-]{1,40} {2,40}[^ ]/y.test(text.slice(start - 1, start + 84)) &&
  /-{3} {2,40}-{3,40}(?:[\r\n]|\\{1,7}[nr])/.test(text.slice(Math.max(0, start - 400), start))

/** Whether the word found at `at` ends a name that may take a value after a blank. */
export function isTaken(text: string, at: number): boolean {
  let start = at
  while (at - start < 40 && /[\w-]/.test(text[start - 1] ?? " ")) start--
  if (text[start - 1] === "\\" && "nrt".includes(text[start]!)) start++
  return (
    text[start] === "-" ||
    /^(?:requirepass|masterauth|bindpw|(?:store|key)Password)/.test(text.slice(start, start + 13)) ||
    isColumn(text, start) ||
    before().test(text.slice(Math.max(0, start - 96), start))
  )
}

/** Whether a command stands before the name that takes its value after a blank. */
export const hasTaker = (text: string, name: Name): boolean =>
  before().test(text.slice(Math.max(0, name.start - 96), name.start))

const isVariableName = (name: Name): boolean => /^[A-Z][A-Z_\d]+$/.test(name.text)
