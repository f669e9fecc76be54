/**
 * What comes after a command in a pipe, and where its output goes: `2>&1 | tail -20`. It changes what is shown of a run,
 * not what is run. Pure.
 */
import { type Pipeline, pipelinesIn, shellWords } from "./shell-script.ts"

/** Programs that pass on lines of what they read, or count them, by how many words besides options they take. */
const BY_OPERANDS = [
  "tail head cat bat less more sort uniq wc cut nl column fold fmt tac rev strings ts col xcpretty xcbeautify tparse",
  "tee sponge grep egrep fgrep rg sed awk gawk perl jq",
  "tr",
]
const FILTERS = new Map(
  BY_OPERANDS.flatMap((names, operands) => names.split(" ").map((name) => [name, operands] as const)),
)

/** Whether all that follows a pipeline's first command are filters. */
export const onlyFilters = ({ filters }: Pipeline): boolean =>
  filters.every((filter) => FILTERS.has(filterName(filter)))

const filterName = (filter: string): string => /^&?\s*([\w-]+)(?=\s|$)/.exec(filter)?.[1] ?? ""

/** Quotations, which stay, or redirections of outputs. */
const REDIRECTION = /('[^']*'|"(?:[^"\\]|\\[\s\S])*")|\s*(?<![^\s\d&])[\d&]?>>?\s*(?:&\d|[^\s'"|&;<>()]+)/g
const withoutRedirections = (text: string): string => text.replace(REDIRECTION, "$1")

/** An operand too many may be the next line of a script that was folded into one. */
function isPlain(filter: string): boolean {
  const [name, ...rest] = shellWords(withoutRedirections(filter).replace(/^&/, ""))
  const operands = rest.filter(({ word, quoted }) => quoted || !/^(?:-|\d+$)/.test(word))
  return name !== undefined && operands.length <= (FILTERS.get(name.word) ?? -1)
}

/** Substitutions, comments and documents are not read as precisely as this needs. */
const INTRICATE = /\$\(|`|<<|(?:^|\s)#/
/** Commands that only say something, in one word, or do nothing. */
const REMARK = /^(?:true|:|echo(?: -\w+)*(?: (?:"[^"]*"|'[^']*'|[^\s"'<>]+))?)$/

/**
 * A script without filters, redirections of outputs and remarks, in one line: what its runs share, however much of
 * their output was asked for.
 */
export function unfiltered(script: string): string {
  const pipelines = INTRICATE.test(script) ? undefined : pipelinesIn(script)
  if (pipelines === undefined) return script
  const kept: string[] = []
  for (const { line, filters, end } of pipelines) {
    const after = filters.reduce((length, filter) => length + filter.length + 1, 0)
    const isCut = filters.every(isPlain)
    const text = withoutRedirections(isCut ? line.slice(0, line.length - after) : line)
    const command = text.replace(/\s+/g, " ").trim()
    if (command !== "" && !REMARK.test(command)) kept.push(command, end === "&&" || end === "||" ? end : ";")
  }
  return kept.slice(0, -1).join(" ") || script
}
