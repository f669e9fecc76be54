/**
 * Whether a run failed although its script succeeded: a shell tells how the last command of a pipe ended, so
 * `go test ./... | tail` succeeds whatever the tests do. Only the output can tell. Pure. docs/measurements/restore.md has
 * how often this is right.
 */
import { withoutColours } from "./error-lines.ts"
import { type KnownRun, MAY_RUN, runOf } from "./runners.ts"
import { onlyFilters } from "./script-essence.ts"
import { type Pipeline, pipelinesIn } from "./shell-script.ts"

/** Longest script that is read. */
const LONGEST = 8000

/** What a script runs whose failure its exit status does not tell. */
export interface HiddenRuns {
  readonly runs: readonly KnownRun[]
  readonly script: string
}

/**
 * Undefined if the exit status tells how all of them ended, and also if the script shows text that others wrote:
 * failures in that would look the same.
 */
export function hiddenRuns(script: string): HiddenRuns | undefined {
  if (script.length > LONGEST || !MAY_RUN.test(script)) return undefined
  const pipelines = pipelinesIn(script) ?? []
  const isPipeTold = /\bpipefail\b/.test(script)
  const runs: KnownRun[] = []
  for (const [n, pipeline] of pipelines.entries()) {
    const run = runOf(pipeline.command)
    if (run === undefined) {
      if (showsText(pipeline.line)) return undefined
      continue
    }
    if (pipeline.isWritten || !onlyFilters(pipeline)) continue
    const isPiped = pipeline.filters.length > 0 && !isPipeTold
    if (isPiped || isPassedOver(pipelines, n)) runs.push(run)
  }
  return runs.length === 0 ? undefined : { runs, script }
}

/** Whether the script goes on after this pipeline failed. */
function isPassedOver(pipelines: readonly Pipeline[], at: number): boolean {
  const next = pipelines.findIndex(({ end }, n) => n >= at && end !== "&&")
  return pipelines.slice(next + 1).some(({ command }) => /[^\s)}]/.test(command))
}

/** Of those that run several tasks at once. */
export const TASK_NAME = /^\[(?!(?:error|warn|info)\])[a-z][\w:.-]*\] /gm
const NOT_FOUND = /(?::|^)(?: line \d+:)? ?(?:command not found: (\S+)|([^\s:]+): (?:command )?not found)$/gm
/** A line of so few characters may be what the script itself prints: `|| echo FAIL`. */
const SHORT = 12

/** Whether output says that one of them failed. */
export function saysFailed(hidden: HiddenRuns | undefined, output: string): boolean {
  if (hidden === undefined) return false
  const text = withoutColours(output).replaceAll("\r", "").replace(TASK_NAME, "")
  const { runs, script } = hidden
  for (const failure of new Set(runs.flatMap(({ failures }) => failures))) {
    const said = failure.exec(text)?.[0]
    if (said !== undefined && !(said.length < SHORT && script.includes(said))) return true
  }
  const words = new Set(runs.flatMap(({ command }) => command.split(/\s+/)))
  return [...text.matchAll(NOT_FOUND)].some(([, last, first = last!]) => words.has(first))
}

/*
 * Which commands show text that others wrote: pages, issues, files, histories. Lines of it that name an error name none
 * that the work has met. Pure.
 */

/** Fetch it, or print what is kept. */
const SHOWING = String.raw`(?<![\w.$-])(?:curl|wget|httpie|xh|aria2c|lynx|w3m|gh|glab|bat|batcat|less|strings|xxd|zcat|pandoc|pdftotext|journalctl|sqlite3|psql|mysql|(?:docker|podman|kubectl)(?: compose)? logs|(?:npm|pnpm|yarn) (?:view|info)|pip3? show|git(?: -[cC] \S+)* (?:log|show|diff|blame|grep|cat-file|reflog|shortlog))(?=\s|$)`
/** Do so unless they get it from the command before them, or write it. */
const READING = String.raw`(?<!\|\s{0,9}|[\w.$/-])(?:[\w/]*\/)?(?:cat(?! *(?:>|<<))|head|tail|tac|nl|e?grep|rg|ag|ack|sed(?! +-i)|awk|jq|yq|cut|sort|uniq|column|diff|base64)(?=\s|$)`
const SHOWS = new RegExp(`${SHOWING}|${READING}`)

/** Whether the output of a script may be text that it shows. */
export const showsText = (script: string): boolean => SHOWS.test(script)
