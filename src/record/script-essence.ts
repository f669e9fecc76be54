/**
 * What a script runs, however much of its output was asked for, and by which names an action is known again. Pure.
 *
 * What comes after a command in a pipe, and where its output goes (`2>&1 | tail -20`), changes what is shown of a run,
 * not what is run.
 */
import { oneLine } from "../base/text.ts"
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

/* Names of actions: what was run or edited before is known again by them. */

/** Characters of a command that are kept of it; of a longer one, nobody can tell whether it is the same. */
const LONGEST_NAMED = 298
/** Most programs of one script that are looked at. */
const MOST_PROGRAMS = 12

/** A name for each thing by which a command, or a file that is edited, may be known to have failed. */
interface ActionNames {
  /** Of the command or the edit as a whole. */
  readonly whole: string
  /** Of the programs that it calls. */
  readonly programs: readonly string[]
}

/**
 * @param folders that the session works in: `cd` into one of them changes nothing
 * @returns undefined for a script that is too long to be told from others
 */
export function namesOfRun(script: string, folders: readonly string[]): ActionNames | undefined {
  const line = oneLine(script.slice(0, 4 * LONGEST_NAMED))
  if (line === "" || line.length > LONGEST_NAMED) return undefined
  return {
    whole: `run ${withoutMove(unfiltered(line), folders)}`,
    programs: programsIn(line).map(nameOfProgram),
  }
}

export const namesOfEdit = (path: string): ActionNames => ({ whole: `edit ${path}`, programs: [] })

export const nameOfProgram = (program: string): string => `program ${program}`

function withoutMove(script: string, folders: readonly string[]): string {
  const [move, quoted, plain] = /^cd (?:["']([^"']+)["']|([^\s"';&|]+)) (?:&&|;) /.exec(script) ?? []
  const folder = (quoted ?? plain)?.replace(/(?<=.)\/$/, "")
  return folder !== undefined && folders.includes(folder) ? script.slice(move!.length) : script
}

/** Values of variables, and words that another program follows. */
const BEFORE_PROGRAM =
  /^(?:\s|[({!](?=\s)|\(|(?:then|do|else|if|while|time|sudo|env|command|exec|nohup)\s|[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s"']*)\s)+/

/** The programs that a script calls, by the names under which a shell looks for them. */
export function programsIn(script: string): string[] {
  const called = (pipelinesIn(script) ?? []).flatMap(({ command, filters }) => [command, ...filters])
  const names = called.map((one) => /^[\w.+-]+(?=\s|$)/.exec(one.replace(BEFORE_PROGRAM, ""))?.[0] ?? "")
  return [...new Set(names)].filter(Boolean).slice(0, MOST_PROGRAMS)
}
