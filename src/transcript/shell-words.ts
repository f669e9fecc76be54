/** Splits a shell command into words, as precisely as finding names in it requires. */

export interface Word {
  readonly word: string
  /** Whether quotes or escapes were part of it. */
  readonly quoted: boolean
}

const WORD_ENDS = new Set("<>|&;()`")
const ESCAPED = new Set("\"'()&;$")

/** Called for every character: a look-up is ten times as fast as a pattern. */
const isBlank = (c: string): boolean =>
  c <= " " ? c === " " || (c >= "\t" && c <= "\r") : c > "~" && /\s/.test(c)

const isEscapable = (c: string): boolean => c !== "" && (ESCAPED.has(c) || isBlank(c))

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
      if (c === quote) quote = ""
      else word += c
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
    } else if (WORD_ENDS.has(c) || isBlank(c)) flush()
    else word += c
  }
  flush()
  return found
}

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
    // Not a here-string (`<<<`) or a shift (`1<<3`).
    until = /(?<!<)<<(?!<)-?\s*(["']?)([A-Za-z_]\w*)\1/.exec(line)?.[2]
  }
  return kept.join("\n")
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
