/**
 * Whether a run failed although its script succeeded: a shell tells how the last command of a pipe ended, so
 * `go test ./... | tail` succeeds whatever the tests do. Only the output can tell. Pure. docs/measurements/restore.md has
 * how often this is right.
 */
import { withoutColours } from "./error-lines.ts"
import { onlyFilters } from "./filters.ts"
import { MAY_RUN, type Runner, runnersOf } from "./runners.ts"
import { type Pipeline, pipelinesIn } from "./shell-script.ts"
import { showsText } from "./showing-commands.ts"

/** Longest script that is read. */
const LONGEST = 8000

/** What a script runs whose failure its exit status does not tell. */
export interface HiddenRun {
  readonly runners: readonly Runner[]
  readonly script: string
}

/**
 * Undefined if the exit status tells how all runners ended, and also if the script shows text that others wrote:
 * failures in that would look the same.
 */
export function hiddenRunners(script: string): HiddenRun | undefined {
  if (script.length > LONGEST || !MAY_RUN.test(script)) return undefined
  const pipelines = pipelinesIn(script) ?? []
  const isPipeTold = /\bpipefail\b/.test(script)
  const found: Runner[] = []
  for (const [n, pipeline] of pipelines.entries()) {
    const runners = runnersOf(pipeline.command)
    if (runners.length === 0) {
      if (showsText(pipeline.line)) return undefined
      continue
    }
    if (pipeline.isWritten || !onlyFilters(pipeline)) continue
    const isPiped = pipeline.filters.length > 0 && !isPipeTold
    if (isPiped || isPassedOver(pipelines, n)) found.push(...runners)
  }
  return found.length === 0 ? undefined : { runners: found, script }
}

/** Whether the script goes on after this pipeline failed. */
function isPassedOver(pipelines: readonly Pipeline[], at: number): boolean {
  const next = pipelines.findIndex(({ end }, n) => n >= at && end !== "&&")
  return pipelines.slice(next + 1).some(({ command }) => /[^\s)}]/.test(command))
}

/** Of those that run several tasks at once. */
const TASK = /^\[(?!(?:error|warn|info)\])[a-z][\w:.-]*\] /gm
const NOT_FOUND = /(?::|^)(?: line \d+:)? ?(?:command not found: (\S+)|([^\s:]+): (?:command )?not found)$/gm
/** A line of so few characters may be what the script itself prints: `|| echo FAIL`. */
const SHORT = 12

/** Whether output says that one of the runners failed. */
export function saysFailed(run: HiddenRun | undefined, output: string): boolean {
  if (run === undefined) return false
  const text = withoutColours(output).replaceAll("\r", "").replace(TASK, "")
  const { runners, script } = run
  for (const { failed } of runners) {
    const said = failed.exec(text)?.[0]
    if (said !== undefined && !(said.length < SHORT && script.includes(said))) return true
  }
  for (const [, named, name = named!] of text.matchAll(NOT_FOUND))
    if (script.split(/\s+/).includes(name)) return true
  return false
}
