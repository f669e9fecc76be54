/**
 * Names, paths and figures in what was said and done: the model needs them again, and summaries drop them. Pure. The
 * caller decides whose words may be searched. Commands are in shell-script.ts.
 */
import { asPath } from "./path-words.ts"

export const FACT_KINDS = ["path", "command", "name", "error"] as const

export type FactKind = (typeof FACT_KINDS)[number]

/** Characters of a text that are searched. Anything longer is a file, and its beginning tells what it is about. */
const LOOKED_AT = 20_000
/** Most facts of one kind in one text. More of them would be a listing. */
const MOST = 120

/** Between backticks, also names joined by dots and hyphens. Elsewhere, `read-only` and `e.g.` look the same. */
const MARKED = /`((?=[\w.-]*(?:[a-z0-9][._-]|[a-z][A-Z]))[A-Za-z_][\w.-]{3,40})(?:\(\))?`/g
/** Digits throughout mean an id or a hash, which nobody types again. */
const ID = /\d{5}|\d\D+\d\D+\d/
/** Tools and terms of Claude Code, and network hosts: nobody needs to be told these again. */
const KNOWN =
  /^(?:GitHub|JavaScript|TypeScript|WebFetch|WebSearch|TodoWrite|TaskCreate|TaskUpdate|MultiEdit|NotebookEdit|BashOutput|KillShell|AskUserQuestion|ExitPlanMode|SlashCommand|ToolSearch|in_progress|general-purpose|read-only)$|\.(?:com|org|net)$/
const NAME_SHORTEST = 5
const NAME_LONGEST = 50

export function factNames(text: string): string[] {
  const found = new Set<string>()
  const head = text.slice(0, LOOKED_AT)
  if (head.includes("`")) for (const [, marked] of head.matchAll(MARKED)) if (isFull(found, marked!)) break
  if (found.size < MOST) addNames(head, found)
  return [...found]
}

/** Adds a name unless it is an id or known to everybody. @returns whether there are enough now */
function isFull(found: Set<string>, name: string): boolean {
  if (name.length >= NAME_SHORTEST && name.length <= NAME_LONGEST && !ID.test(name) && !KNOWN.test(name))
    found.add(name)
  return found.size >= MOST
}

/** Words of ASCII letters, digits and low lines with a capital letter or a low line behind the first character. */
const JOINED = /\b\w[a-z\d]*[A-Z_]\w*/g
/** Two parts joined by a low line, behind any low lines. `HTTP` and `IDs` are no names, but `useHTTP` and `IdOf` are. */
const SNAKE = /^_*[A-Za-z][A-Za-z\d]*_\w*[A-Za-z\d]$/
const CAMEL = /^(?:[a-z]|[A-Z][a-z\d])/

/**
 * `camelCase`, `PascalCase` of two words, `snake_case`. Excludes plain words, parts of hyphenated ones, and words after
 * an escaped line end (`\nWhen`). One pattern finds them, since a hook that restores would interpret a loop over all
 * letters: 4 ms for what files and searches have shown.
 */
function addNames(text: string, found: Set<string>): void {
  for (const { 0: name, index } of text.matchAll(JOINED)) {
    if (name.length > NAME_LONGEST || found.has(name) || !(name.includes("_") ? SNAKE : CAMEL).test(name))
      continue
    if (!isPart(text, index, index + name.length) && isFull(found, name)) return
  }
}

/** Whether a dollar sign or hyphens join it to a word, or its first letter belongs to an escaped line end. */
function isPart(text: string, start: number, end: number): boolean {
  const before = text.charAt(start - 1)
  const after = text.charAt(end)
  if (before === "$" || after === "$") return true
  if (before === "-" && isWord(text.charAt(start - 2))) return true
  if (before === "\\" && /^[nrt][A-Z]/.test(text.slice(start, start + 2))) return true
  return after === "-" && isWord(text.charAt(end + 1))
}

const isWord = (character: string): boolean => /^\w$/.test(character)

/** Characters of a path in prose, as opposed to those between paths. */
const WORD_OF_PATH = /(?<![^\s"'`<>()[\]{}|,;])(?:[A-Za-z]:\\|[^\s"'`<>()[\]{}|,;/]*\/)[^\s"'`<>()[\]{}|,;]*/g
/** After `${ROOT}`, `"$ROOT"` and `<folder>`, a slash begins no path of its own: the folder it is in is unnamed. */
const BELOW = /(?:[\w}]["'`]|[\]}]|<[\w -]{1,30}>)$/
const BELOW_REACH = 34

const REST_OF_WORD = /[^\s"'`<>()[\]{}|,;]*/y
/** Those of ASCII that are no part of a path. */
const BETWEEN = " \t\n\v\f\r\"'`<>()[]{}|,;"
const isBetween = (character: string): boolean =>
  character < "\x80" ? BETWEEN.includes(character) : /\s/.test(character)

/** The same without drives: words around slashes. */
function* wordsWithSlash(text: string): Generator<{ readonly 0: string; readonly index: number }> {
  let past = 0
  for (let slash = text.indexOf("/"); slash >= 0; slash = text.indexOf("/", past)) {
    let index = slash
    while (index > past && !isBetween(text[index - 1]!)) index--
    REST_OF_WORD.lastIndex = slash
    REST_OF_WORD.test(text)
    past = REST_OF_WORD.lastIndex
    yield { 0: text.slice(index, past), index }
  }
}

/** Paths in prose: words with a slash and an extension, as `and/or` is not a path, and names of files without a folder. */
export function pathsIn(text: string): string[] {
  const found = new Set<string>()
  const head = text.slice(0, LOOKED_AT)
  // Most words have no slash, and are not looked at unless a drive may begin one.
  for (const { 0: word, index } of head.includes(":\\")
    ? head.matchAll(WORD_OF_PATH)
    : wordsWithSlash(head)) {
    if (!word.includes(".") || word.includes("://")) continue
    const isBelow = word.startsWith("/") && BELOW.test(head.slice(Math.max(0, index - BELOW_REACH), index))
    const told = isBelow ? word.slice(1) : word
    const path = asPath(told.replace(/[.:!?*]+$/, "").replace(/(?::\d{1,6}){1,2}(?:-\d{1,6})?$/, ""), false)
    if (path === undefined || !/\.[A-Za-z][A-Za-z0-9]{0,9}$/.test(path)) continue
    found.add(path)
    if (found.size >= MOST) return [...found]
  }
  for (const [name] of head.matchAll(BARE_FILE)) {
    if (isFileName(name)) found.add(name)
    if (found.size >= MOST) break
  }
  return [...found]
}

/** A word with an extension that nothing joins to another one, and that is not called. */
const BARE_FILE =
  /(?<![\w./\\@$%&=?#~+-]|[\w]:)[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w(/\\@$=-]|\.\w|:\/\/)/g
/** Products, and members of objects whose names look like extensions. */
const NO_FILE =
  /^(?:node|next|vue|nuxt|react|three|express|chart|discord|alpine|d3|moment|ember|backbone|p5)\.js$|^(?:this|self|process|console|window|document|response|res|request|req|logger|import|module|exports)\./i

const isFileName = (name: string): boolean => !NO_FILE.test(name) && asPath(name, false) === name

/** A file without its folder, in quotation marks: elsewhere, `user.name` and `e.g.` look the same. */
const FILE_NAME = /(["'`])([\w-][\w.-]{0,60}\.[A-Za-z][A-Za-z0-9]{0,9})\1/g

/** Names of files that stand in quotation marks without their folder. */
export function quotedFilesIn(text: string): string[] {
  const found = new Set<string>()
  for (const [, , name] of text.slice(0, LOOKED_AT).matchAll(FILE_NAME)) {
    if (asPath(name!, false) === name) found.add(name!)
    if (found.size >= MOST) break
  }
  return [...found]
}

/** A figure that is not part of a name, path, version, date, time or address. */
const FIGURE =
  /(?<![\p{L}\d_.,:/#@+\-$\\])\d{1,12}(?:,\d{3})*(?:\.\d{1,6})?(?:\s?(?:%|ms|s|min|h|[kKMGT]?B|K|M|px|x)(?![\p{L}\d]))?(?![\p{L}\d_/\\-]|[.,:]\d)/gu

/** With a unit, a fraction, a thousands separator or three digits. Smaller bare numbers are list items and counts. */
const TELLING = /\D|\d{3}/

/** As written, with white space before a unit folded. */
export function numbersIn(text: string): string[] {
  const found = new Set<string>()
  for (const [figure] of text.slice(0, LOOKED_AT).matchAll(FIGURE)) {
    if (!TELLING.test(figure)) continue
    found.add(figure.replace(/\s+/, " "))
    if (found.size >= MOST) break
  }
  return [...found]
}
