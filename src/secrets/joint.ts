/**
 * What joins a name and its value: an operator, a comma in a call, a bar in a table, a verb in a sentence. Read by hand,
 * since a hook comes here often, and compiling a regular expression costs more than reading a hundred names. Pure.
 */
import {
  pastDump,
  pastElement,
  pastExpected,
  pastFields,
  pastForeign,
  pastHost,
  pastLine,
  pastListed,
  pastNested,
  pastOption,
  pastParticiple,
  pastSchema,
  pastVariable,
} from "./apart.ts"
import { isBlankUnit, isBreak, isQuote, pastBlanks, pastMarks } from "./value-end.ts"

/**
 * `assigned`: by an operator. `quoted`: only a value in quotation marks may follow. `named`: the name itself is a value,
 * as in `{"name": "PASSWORD", "value": "…"}`. `spaced`: by a blank. `apart`: by so little that only random text counts.
 */
export type How = "assigned" | "quoted" | "named" | "element" | "cell" | "said" | "spaced" | "word" | "apart"

/** Whether it is plainly a value: by an operator, or as one in an element or a pair. */
export const isOperator = (how: How): boolean => how === "assigned" || how === "element" || how === "named"

export interface Joint {
  readonly how: How
  /** Where the value begins. */
  readonly at: number
}

/** Blanks within a line: an aligned column is no wider. */
const WIDEST = 40

/** @param end index after the name */
export function jointAt(text: string, end: number): Joint | undefined {
  const close = pastClosers(text, end)
  const at = pastBlanks(text, close, WIDEST)
  switch (text[at]) {
    case ":":
      // `::=` of grammars and some makefiles.
      if (text.startsWith(":=", at + 1)) return assigned(text, at + 3)
      if (text.startsWith("::=", at + 1)) return assigned(text, at + 4)
      return afterColon(text, at)
    case "=":
      return assigned(text, pastOperator(text, at))
    case "\xe2":
    case "\xe3":
    case "\xe4":
    case "\xe6":
    case "\xef":
      return joined("said", pastForeign(text, at))
    case "-":
      if (text[at + 1] === ">") return assigned(text, at + 2)
      if (at > close && text[at + 1] === " ") return { how: "apart", at: at + 2 }
      return at > close ? (joined("named", pastOption(text, at)) ?? afterBlank(text, close, at)) : undefined
    case "<":
      if (text[at + 1] === "/") return joined("element", pastElement(text, at))
      if (text[at + 1] === "-") return assigned(text, at + 2)
      return text.startsWith("<<<", at) ? assigned(text, at + 3) : undefined
    case ".":
      if (text[at + 1] !== "=") return joined("apart", pastLine(text, at))
      return assigned(text, at + 2)
    case "+":
    case "!":
      return text[at + 1] === "=" ? assigned(text, at + 2) : undefined
    case "?":
      if (text[at + 1] === "=") return assigned(text, at + 2)
      return text[at + 1] === ":" ? (typed(text, at + 1) ?? quoted(text, at + 2)) : fallback(text, at)
    case "|":
      return text[at + 1] === "|" ? fallback(text, at) : { how: "cell", at: pastBlanks(text, at + 1, WIDEST) }
    case ",":
      return named(text, at + 1) ?? (isQuote(text[close - 1]) ? quoted(text, at + 1) : field(text, end, at))
    case ")":
      if (text[at + 1] === ".") return joined("quoted", pastExpected(text, at))
      return at === close ? fallback(text, pastBlanks(text, at + 1, 4)) : undefined
    case "(":
      // The target of a link in Markdown.
      if (text[at - 1] === "]") return undefined
      return at === end ? quoted(text, at + 1) : { how: "said", at: at + 1 }
    case "[":
      return at === close && text[at + 1] === "]" ? typed(text, at) : undefined
    case "{":
      return named(text, at + 1) ?? joined("named", pastVariable(text, at)) ?? typed(text, at)
    case ">":
      if (text.startsWith("<value>", at + 1)) return { how: "element", at: at + 8 }
      return close === end && at === end ? { how: "element", at: pastGap(text, at + 1) } : undefined
    default:
      if (isBreak(text, at) > 0) return named(text, at) ?? joined("apart", pastLine(text, close))
      return at > close ? afterBlank(text, close, at) : named(text, at)
  }
}

const joined = (how: How, at: number): Joint | undefined => (at < 0 ? undefined : { how, at })

/** The next field of a row whose fields are separated by commas. */
const field = (text: string, end: number, at: number): Joint | undefined =>
  at === end && /[\w$]/.test(text[at + 1] ?? " ") ? { how: "apart", at: at + 1 } : undefined

/** Quotation marks, backslashes before them and what closes an index. */
function pastClosers(text: string, end: number): number {
  let at = end
  for (let n = 0; n < 5; n++) {
    const mark = pastMarks(text, at)
    if (mark > at) at = mark
    else if ("]}*".includes(text[at] ?? " ")) at++
    else break
  }
  return at
}

function pastOperator(text: string, start: number): number {
  let at = start
  while (at < start + 3 && text[at] === "=") at++
  return text[at] === ">" ? at + 1 : at
}

function afterColon(text: string, at: number): Joint | undefined {
  const next = text[at + 1]
  if (next === ":") return undefined
  if (next === "=") return assigned(text, at + 2)
  // The default of a variable in a shell.
  if (next === "-") return { how: "word", at: at + 2 }
  if (isBreak(text, at + 1) > 0 || text.startsWith('","', at + 1)) {
    const nested = joined("named", pastNested(text, at))
    if (nested !== undefined) return nested
    const example = joined("apart", pastSchema(text, at))
    if (example !== undefined) return example
  }
  return typed(text, at) ?? assigned(text, at + 1)
}

/** Skips what may precede the value: blanks, bold marks, a function around the string, the scheme of a header. */
function assigned(text: string, start: number): Joint | undefined {
  let at = start
  while (text[at] === "*") at++
  // More than mark bold text are a value that was filled.
  if (at > start + 3) return undefined
  at = pastBlanks(text, at, WIDEST)
  // What PHP prints, and the marks of reStructuredText.
  const dump = "s\n\\".includes(text[at] ?? " ") ? pastDump(text, at) : -1
  if (dump > 0) return { how: "quoted", at: dump }
  if (text.startsWith("``", at) && text[at + 2] !== "`") at++
  // A count or a flag, and code.
  const code = text.charCodeAt(at)
  if (code > 0x2f && code < 0x3a && isCount(text, at)) return undefined
  const fields = text[at] === "{" ? pastFields(text, at) : -1
  if (fields > 0) return { how: "named", at: fields }
  const host = text[at] === "{" ? pastHost(text, at) : -1
  return { how: "assigned", at: host > 0 ? host : pastScheme(text, pastWrap(text, at)) }
}

function isCount(text: string, start: number): boolean {
  let at = start
  while (at < start + 10 && text.charCodeAt(at) > 0x2f && text.charCodeAt(at) < 0x3a) at++
  // Of the end of a line, six digits may be a PIN.
  return at < start + 10 && (at < start + 6 ? ",}]\\" : ",}]").includes(text[at] ?? " ")
}

const wrap = (): RegExp => /(?:[A-Za-z][\w.:]{0,30}!?\([ ]?|&)(?=[bBruL@]{0,2}\\{0,7}["'`])/y

/** `String::from("…")`, `&"…"` */
function pastWrap(text: string, at: number): number {
  const open = text.slice(at, at + 34).indexOf("(")
  if (text[at] !== "&" && (open < 1 || !/["'`\\]/.test(text.slice(at + open + 1, at + open + 4)))) return at
  const regex = wrap()
  regex.lastIndex = at
  return regex.test(text) ? regex.lastIndex : at
}

const scheme = (): RegExp => /(?:bearer|basic|token|api-?key|bot|oauth)[ ]{1,2}/iy

function pastScheme(text: string, at: number): number {
  if (!/[bBtTaAoO]/.test(text[at] ?? "")) return at
  const regex = scheme()
  regex.lastIndex = at
  return regex.test(text) ? regex.lastIndex : at
}

function quoted(text: string, start: number): Joint | undefined {
  const at = pastWrap(text, pastGap(text, start))
  const first = text[at] ?? ""
  return isQuote(first) || "\\bBruL@".includes(first) ? { how: "quoted", at } : undefined
}

const type = (): RegExp =>
  /(?::[ ]{0,2}[\w&'*.<>[\]|? ,]{1,40}|[\w*.[\]]{1,24}|\[\d{0,6}\]|\{[ \w;]{1,24}\})[ \t]{0,4}=[ \t]{0,4}/y

/** `x: string = "…"`, `x string = "…"`, `x[] = "…"`, `X { get; set; } = "…"` */
function typed(text: string, start: number): Joint | undefined {
  const ahead = text.slice(start, start + 52)
  const sign = ahead.indexOf("=")
  if (sign < 2 || ahead.slice(0, sign).includes("\n") || ahead[sign + 1] === ">") return undefined
  const regex = type()
  regex.lastIndex = start
  return regex.test(text) ? quoted(text, regex.lastIndex) : undefined
}

/** `?? "…"`, `|| "…"`, `?: "…"`, `or "…"`, and a second argument */
function fallback(text: string, at: number): Joint | undefined {
  const two = text.slice(at, at + 2)
  if (two === "??" || two === "||") return quoted(text, at + (text[at + 2] === "=" ? 3 : 2))
  if (two === "?:" || two === "or") return quoted(text, at + 2)
  return text[at] === "," ? quoted(text, at + 1) : undefined
}

const value = (): RegExp =>
  /-?\\{0,7}["']?(?:parameter)?(?:value|default)\\{0,7}["']?[ \t]{0,12}[:=][ \t]{0,4}/iy

/** `"value": "…"` or `default = "…"`, perhaps on the next line */
function named(text: string, start: number): Joint | undefined {
  const gap = pastGap(text, start)
  const at = '-+"0123456789'.includes(text[gap] ?? " ") ? Math.max(gap, pastListed(text, start)) : gap
  if (!/value|default/i.test(text.slice(at, at + 24))) return undefined
  const regex = value()
  regex.lastIndex = at
  return regex.test(text) ? { how: "named", at: regex.lastIndex } : undefined
}

/** Blanks and line breaks, also escaped. */
function pastGap(text: string, start: number): number {
  let at = start
  for (let n = 0; n < 4; n++) {
    at = pastBlanks(text, at, WIDEST)
    const past = isBreak(text, at)
    if (past === 0) break
    at += past
  }
  return at
}

/** Whether a word of a sentence begins here, and not `string = "…"`. */
function isPlainWord(text: string, start: number): boolean {
  let at = start
  while (text.charCodeAt(at) > 96 && text.charCodeAt(at) < 123) at++
  if (at === start) return false
  return text[at] === " " ? text[at + 1] !== "=" : ".,;:)".includes(text[at] ?? ".")
}

function element(text: string, at: number): Joint | undefined {
  if (!/^\w+=\\*["']/.test(text.slice(at, at + 34))) return undefined
  const regex = attributes()
  regex.lastIndex = at
  return regex.test(text) ? { how: "element", at: regex.lastIndex } : undefined
}

const verb = (): RegExp =>
  /(?:(?:for|of|pour|de|du)(?: [\w.@-]{1,24}){1,3}?(?=:| (?:is|was|est)))?(?: ?(?:is|was|are|to|set|changed|now|be|as|should|will|ist|lautet|est|es)(?=[ :])){0,4}:?[ ]{1,2}/y
const VERBS = " is was to for of pour de du set should will ist lautet est es "

/** Attributes of an element, whose content follows. */
const attributes = (): RegExp =>
  /(?:[ ]?[\w:-]{1,24}=\\{0,7}["'][^"'<>\\]{0,64}\\{0,7}["']){1,4}[ ]?>(?=[^\s<])/y

function afterBlank(text: string, close: number, at: number): Joint | undefined {
  const first = text[at] ?? ""
  if (isQuote(first) || first === "\\") return { how: "spaced", at }
  const rest = text.slice(at, at + 10)
  const word = rest.slice(0, (rest.indexOf(" ") + 10) % 10 || 10)
  if (word === "or") return quoted(text, at + 2)
  if (VERBS.includes(` ${word.endsWith(":") ? word.slice(0, -1) : word} `)) {
    const regex = verb()
    regex.lastIndex = at
    return regex.test(text) ? { how: "said", at: regex.lastIndex } : undefined
  }
  const behind = joined("apart", pastParticiple(text, at))
  if (behind !== undefined) return behind
  if (isPlainWord(text, at)) return undefined
  return (
    named(text, close) ??
    element(text, at) ??
    typed(text, at) ??
    (isBlankUnit(first) ? undefined : { how: "spaced", at })
  )
}
