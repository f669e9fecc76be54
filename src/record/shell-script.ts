/**
 * Reads scripts of a shell: their words, the commands of their pipelines, and a word as the shell would expand it. Each
 * as precisely as its use requires; nothing else takes scripts apart. Pure. Quoting is `base/text.ts`.
 */

interface Word {
  readonly word: string
  /** Whether quotes or escapes were part of it. */
  readonly quoted: boolean
}

const ESCAPED = new Set("\"'()&;$")

const isEscapable = (c: string): boolean => c !== "" && (ESCAPED.has(c) || /\s/.test(c))

/** What means nothing to the shell, as many as there are: a script is mostly that, and taken in runs of it. */
const PLAIN_OF_WORD = /[^\s<>|&;()`"'#\\]+/y

/** Words of a command, without quotes, operators, comments and lines of here-documents. */
export function shellWords(script: string): Word[] {
  const command = withoutHereDocuments(script)
  const found: Word[] = []
  let word = ""
  let quote = ""
  let quoted = false
  const flush = () => {
    if (word !== "") found.push({ word, quoted })
    word = ""
    quoted = false
  }
  for (let i = 0; i < command.length; i++) {
    const c = command.charAt(i)
    if (quote !== "") {
      const end = command.indexOf(quote, i)
      word += command.slice(i, end < 0 ? undefined : end)
      if (end < 0) break
      i = end
      quote = ""
    } else if (c === '"' || c === "'") {
      quote = c
      quoted = true
    } else if (c === "#" && word === "" && !quoted) {
      // A comment, where an apostrophe quotes nothing.
      while (i + 1 < command.length && command.charAt(i + 1) !== "\n") i++
    } else if (c === "\\" && isEscapable(command.charAt(i + 1))) {
      // An escaped blank belongs to the word; any other backslash may be a Windows separator.
      i++
      if (command.charAt(i) !== "\n") word += command.charAt(i)
      quoted = true
    } else if (c === "#" || c === "\\") word += c
    else {
      const plain = runAt(PLAIN_OF_WORD, command, i)
      if (plain === "") flush()
      else {
        word += plain
        i += plain.length - 1
      }
    }
  }
  flush()
  return found
}

/** The run of characters at `at` that a sticky pattern matches; empty if there is none. */
function runAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ""
}

/** Not a here-string (`<<<`) or a shift (`1<<3`). */
const DOCUMENT = /(?<!<)<<(?!<)-?\s*(["']?)([A-Za-z_]\w*)\1/
const DOCUMENTS = new RegExp(DOCUMENT, "g")

function withoutHereDocuments(command: string): string {
  if (!command.includes("<<")) return command
  const kept: string[] = []
  let until: string | undefined
  for (const line of command.split("\n")) {
    if (until !== undefined) {
      if (line.trim() === until) until = undefined
      continue
    }
    kept.push(line)
    until = DOCUMENT.exec(line)?.[2]
  }
  return kept.join("\n")
}

const LOOKED_AT = 20_000
/** Most commands of one script. More of them would be a listing. */
const MOST = 120
const COMMAND_LONGEST = 160
const COMMAND_SHORTEST = 6
/** Commands that move about, print or assign, and words of shell grammar. */
const NO_COMMAND =
  /^(?:(?:cd|echo|printf|true|false|exit|set|export|sleep|continue|break|for|while|if|then|else|elif|fi|do|done|case|esac|in|read|local|return)\b|[#{}()[\]!-]|\w+=)/

/** Commands with nothing but variables: `cat "$f"`, `$TOOL -v`. */
const VARIABLES_ONLY = /^["']?\$|^\S+(?: -[\w-]+)*(?: ["']?\$\{?\w+\}?["']?)+$/

/** A command, and the line it was in, with redirections and filters. */
interface CommandUse {
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
  if (!command.endsWith(")")) return command
  let open = 0
  for (const letter of command) if (letter === "(" || letter === ")") open += letter === "(" ? 1 : -1
  return open < 0 ? command.slice(0, open).trimEnd() : command
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
/** What precedes a `>` that redirects errors, and the second of `>>`. */
const NOT_OUTPUT = /\s2$|>$/

/** Commands joined by `|`. The first is without its redirections. */
export interface Pipeline extends CommandUse {
  /** The commands after the first. */
  readonly filters: readonly string[]
  /** Whether the first command's output goes to a file instead. */
  readonly isWritten: boolean
  /** What ends it: `&&`, `||`, `;`, a line break; empty at the script's end. */
  readonly end: string
}

const PLAIN_OF_COMMAND = /[^\\#\n;&|<>"']+/y
/** Within quotation marks of the one kind or the other. */
const QUOTED = { "'": /[^']+/y, '"': /[^"\\]+/y } as const

/** Pipelines and their first commands, up to any redirection. Passes over comments, stops at a here-document. */
function* pipelines(script: string): Generator<Pipeline> {
  let command = ""
  let start = 0
  let quote: "" | keyof typeof QUOTED = ""
  let isPast = false
  let isDocument = false
  let isWritten = false
  let bars: number[] = []
  const piece = (upTo: number, end: string): Pipeline => ({
    command,
    line: script.slice(start, upTo),
    filters: bars.map((bar, at) => script.slice(bar + 1, bars[at + 1] ?? upTo)),
    isWritten,
    end,
  })
  for (let n = 0; n < script.length; n++) {
    const plain = runAt(quote === "" ? PLAIN_OF_COMMAND : QUOTED[quote], script, n)
    if (!isPast) command += plain
    n += plain.length
    if (n === script.length) break
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
      const end = letter === next && letter !== "\n" ? letter + next : letter
      yield piece(n, end)
      n += end.length - 1
      command = ""
      start = n + 1
      isPast = false
      isWritten = false
      bars = []
    } else if (letter === "<" && next === "<") {
      isDocument = true
      break
    } else if (letter === "|" || letter === "<" || letter === ">") {
      if (letter === "|") bars.push(n)
      else if (
        letter === ">" &&
        bars.length === 0 &&
        next !== "&" &&
        !NOT_OUTPUT.test(script.slice(Math.max(0, n - 2), n))
      )
        isWritten = true
      if (!isPast && letter !== "|") command = command.replace(/ [\d&]$/, "")
      isPast = true
    } else {
      if (letter === '"' || letter === "'") quote = letter
      if (!isPast) command += letter
    }
  }
  if (quote !== "") return
  const last = piece(script.length, "")
  yield isDocument ? { ...last, line: last.line.split("\n", 1)[0]! } : last
}

/** All pipelines of a script, passing over here-documents; undefined if a quotation does not end. */
export function pipelinesIn(script: string): Pipeline[] | undefined {
  const found = [...pipelines(withoutHereDocuments(script).replace(DOCUMENTS, ""))]
  return found.at(-1)?.end === "" ? found : undefined
}

/** A pattern for one word with any quoting. Its alternatives start with different characters: no backtracking. */
export const SHELL_WORD = String.raw`(?:'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\;&|<>()\x60])+`

const HOME = /\$HOME\b|\$\{HOME\}/g

/** A word as the shell would expand it. Handles only quotes, escapes and the home folder. */
export function expandedWord(word: string, home: string): string {
  const part = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|\$HOME\b|\$\{HOME\}|^~(?=\/)/g
  return word.replace(part, (_, single?: string, double?: string, escaped?: string) => {
    if (double !== undefined) return double.replace(HOME, () => home).replace(/\\(["\\$`])/g, "$1")
    return single ?? escaped ?? home
  })
}
