/**
 * Names, paths and commands in what was said and done: the model needs them again, and summaries drop them. Pure. The
 * caller decides whose words may be searched.
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

const COMMAND_LONGEST = 160
const COMMAND_SHORTEST = 6
/** Commands that move about, print or assign, and words of shell grammar. */
const NO_COMMAND =
  /^(?:(?:cd|echo|printf|true|false|exit|set|export|sleep|continue|break|for|while|if|then|else|elif|fi|do|done|case|esac|in|read|local|return)\b|[#{}()[\]!-]|\w+=)/

/** Commands with nothing but variables: `cat "$f"`, `$TOOL -v`. */
const VARIABLES_ONLY = /^["']?\$|^\S+(?: -[\w-]+)*(?: ["']?\$\{?\w+\}?["']?)+$/

/** A command, and the line it was in, with redirections and filters. */
export interface CommandUse {
  readonly command: string
  readonly line: string
}

/** The first command of each pipeline in a script, without duplicates. */
export const simpleCommands = (script: string): string[] => commandUses(script).map(({ command }) => command)

export function commandUses(script: string): CommandUse[] {
  const found = new Map<string, CommandUse>()
  for (const piece of pipelines(script.slice(0, LOOKED_AT))) {
    const command = outside(folded(piece.command))
    const line = outside(folded(piece.line))
    if (command.length < COMMAND_SHORTEST || command.length > COMMAND_LONGEST) continue
    // With several lines it is a program or a message, which nobody types again.
    if (NO_COMMAND.test(command) || !command.includes(" ") || command.includes("\n")) continue
    if (VARIABLES_ONLY.test(command)) continue
    found.set(command, {
      command,
      line: line.length > COMMAND_LONGEST || line.includes("\n") ? command : line,
    })
    if (found.size >= MOST) break
  }
  return [...found.values()]
}

/** Removes the end of a subshell that was opened before the command: `(cd app && npm test)`. */
function outside(command: string): string {
  let open = 0
  for (const letter of command) if (letter === "(" || letter === ")") open += letter === "(" ? 1 : -1
  return open < 0 && command.endsWith(")") ? command.slice(0, open).trimEnd() : command
}

/** Commands that print or wait, comments, and words of shell grammar. */
const NO_OPENING =
  /^(?:(?:echo|printf|sleep|for|while|until|if|case|function)\b|[\w-]+ ?\(\)|[#{}()[\]!])|\\$/

/** A script's first line as typed, cut if too long: where and with which variables it runs, or how it begins. */
export function openingOf(script: string): string | undefined {
  const [first = ""] = script
    .trimStart()
    .slice(0, 2 * COMMAND_LONGEST)
    .split("\n", 1)
  const line = folded(first).slice(0, COMMAND_LONGEST).trimEnd()
  if (line.length < COMMAND_SHORTEST) return undefined
  return NO_OPENING.test(line) || VARIABLES_ONLY.test(line) || !/[ =]/.test(line) ? undefined : line
}

const folded = (text: string): string => text.replace(/[ \t]+/g, " ").trim()

/** What a comment begins after, besides a line's start: elsewhere, as in `$#` and `a#b`, the mark is a letter. */
const BEFORE_COMMENT = /[\s;&|()]/

/** Pipelines and their first commands, up to any redirection. Passes over comments, stops at a here-document. */
function* pipelines(script: string): Generator<CommandUse> {
  let command = ""
  let start = 0
  let quote = ""
  let isPast = false
  let isDocument = false
  for (let n = 0; n < script.length; n++) {
    const letter = script[n]!
    const next = script[n + 1]
    if (letter === "\\" && quote !== "'") {
      if (!isPast && next !== "\n") command += letter + (next ?? "")
      n++
    } else if (quote !== "") {
      if (!isPast) command += letter
      if (letter === quote) quote = ""
    } else if (letter === "#" && (n === 0 || BEFORE_COMMENT.test(script[n - 1]!))) {
      // Not up to the line's end, which ends the command.
      while (n + 1 < script.length && script[n + 1] !== "\n") n++
    } else if (letter === "\n" || letter === ";" || (letter === next && (letter === "&" || letter === "|"))) {
      yield { command, line: script.slice(start, n) }
      if (letter === next && letter !== "\n") n++
      command = ""
      start = n + 1
      isPast = false
    } else if (letter === "<" && next === "<") {
      isDocument = true
      break
    } else if (letter === "|" || letter === "<" || letter === ">") {
      if (!isPast && letter !== "|") command = command.replace(/ [\d&]$/, "")
      isPast = true
    } else {
      if (letter === '"' || letter === "'") quote = letter
      if (!isPast) command += letter
    }
  }
  if (quote !== "") return
  const line = script.slice(start)
  yield { command, line: isDocument ? line.split("\n", 1)[0]! : line }
}
