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

/**
 * `camelCase`, `PascalCase` of two words, `snake_case`. Excludes plain words, parts of hyphenated ones, and words after
 * an escaped line end (`\nWhen`).
 */
const NAME =
  /(?<![\w$]|\w-|\\(?=[nrt][A-Z]))(?:[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+)(?![\w$]|-\w)/g
/** Between backticks, also names joined by dots and hyphens. Elsewhere, `read-only` and `e.g.` look the same. */
const MARKED = /`((?=[\w.-]*(?:[a-z0-9][._-]|[a-z][A-Z]))[A-Za-z_][\w.-]{3,40})(?:\(\))?`/g
/** Digits throughout mean an id or a hash, which nobody types again. */
const ID = /\d{5}|\d\D+\d\D+\d/
/** Tools and terms of the host, and network hosts: nobody needs to be told these again. */
const KNOWN =
  /^(?:GitHub|JavaScript|TypeScript|WebFetch|WebSearch|TodoWrite|TaskCreate|TaskUpdate|MultiEdit|NotebookEdit|BashOutput|KillShell|AskUserQuestion|ExitPlanMode|SlashCommand|ToolSearch|in_progress|general-purpose|read-only)$|\.(?:com|org|net)$/
const NAME_SHORTEST = 5
const NAME_LONGEST = 50

export function namesIn(text: string): string[] {
  const found = new Set<string>()
  const head = text.slice(0, LOOKED_AT)
  for (const pattern of [MARKED, NAME]) {
    for (const [whole, marked] of head.matchAll(pattern)) {
      const name = marked ?? whole
      if (name.length < NAME_SHORTEST || name.length > NAME_LONGEST || ID.test(name) || KNOWN.test(name))
        continue
      found.add(name)
      if (found.size >= MOST) return [...found]
    }
  }
  return [...found]
}

/** Characters of a path in prose, as opposed to those between paths. */
const WORD_OF_PATH = /(?<![^\s"'`<>()[\]{}|,;])(?:[A-Za-z]:\\|[^\s"'`<>()[\]{}|,;/]*\/)[^\s"'`<>()[\]{}|,;]*/g
/** After `${ROOT}`, `"$ROOT"` and `<folder>`, a slash begins no path of its own: the folder it is in is unnamed. */
const BELOW = /(?:[\w}]["'`]|[\]}]|<[\w -]{1,30}>)$/
const BELOW_REACH = 34

/** Paths in prose. They need a slash and an extension, as `and/or` is not a path. */
export function pathsIn(text: string): string[] {
  const found = new Set<string>()
  const head = text.slice(0, LOOKED_AT)
  for (const { 0: word, index } of head.matchAll(WORD_OF_PATH)) {
    if (word.includes("://")) continue
    const isBelow = word.startsWith("/") && BELOW.test(head.slice(Math.max(0, index - BELOW_REACH), index))
    const told = isBelow ? word.slice(1) : word
    const path = asPath(told.replace(/[.:!?*]+$/, "").replace(/(?::\d{1,6}){1,2}(?:-\d{1,6})?$/, ""), false)
    if (path === undefined || !/\.[A-Za-z][A-Za-z0-9]{0,9}$/.test(path)) continue
    found.add(path)
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
