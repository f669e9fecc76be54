/**
 * How commands were run: each command with its runs, how the last one ended, and where. Runs whose outputs only went
 * through other filters are runs of the same command.
 */
import type { Database } from "../archive/database.ts"
import { runsOfCommands, type ShellRun } from "../archive/queries/calls.ts"
import { type TakenBack, takenBackOf } from "../archive/taken-back-mark.ts"
import { errorLinesIn } from "../transcript/error-lines.ts"
import { unfiltered } from "../transcript/filters.ts"
import { oneLine } from "../util/text.ts"
import { wordSet } from "../util/words.ts"
import { hasWord } from "./fts-expression.ts"
import { parseQuery } from "./parse-query.ts"
import type { WholeCalls } from "./whole-calls.ts"

/** `takenBack` is that of the last run's turn. */
export interface CommandRun extends TakenBack {
  /** As in the last run, with line breaks. */
  readonly command: string
  readonly runs: number
  readonly failures: number
  /** Whether the last run failed; null while it is unanswered. */
  readonly failed: boolean | null
  /** Exit code of the last run, when it failed with one. */
  readonly exitCode: number | null
  /** The line that names the last run's error, or the beginning of its output when none does. */
  readonly error: string | null
  readonly time: string | null
  /** The turn of the last run, with `ctx:`. */
  readonly handle: string
}

export interface CommandsRequest {
  /** Undefined: all projects. */
  readonly project: string | undefined
  /**
   * How many commands, best first, are read from the vault. The others are shown as the one line that the views keep.
   */
  readonly limit: number
  readonly calls: WholeCalls
}

/**
 * Best first: commands that begin as asked, then those that have these words in a row. Of two commands with the same
 * words, the shorter is more to the point.
 *
 * @param messages calls that contain words of the query, best first
 */
export function commandsRun(
  db: Database,
  query: string,
  messages: readonly number[],
  { project, limit, calls }: CommandsRequest,
): CommandRun[] {
  const { terms } = parseQuery(query)
  const closeness = (command: string): number => {
    const own = wordSet(command)
    return terms.filter(({ word, isPrefix }) => hasWord(own, word, isPrefix)).length / Math.sqrt(own.size + 1)
  }
  const asked = RegExp.escape(oneLine(query))
  const begins = new RegExp(`(?:^|[;&|] )${asked}(?![\\w-])`, "i")
  const holds = new RegExp(`(?<![\\w-])${asked}(?![\\w-])`, "i")
  const nearness = (command: string): number => (begins.test(command) ? 2 : holds.test(command) ? 1 : 0)
  const rank = new Map(messages.map((id, n) => [id, n]))
  return (
    runsOf(db, messages, project, calls)
      .map((runs) => {
        const command = unfiltered(runs[0]!.target)
        return {
          runs,
          best: runs.reduce((least, { use }) => Math.min(least, rank.get(use!) ?? least), messages.length),
          near: nearness(command),
          score: closeness(command),
        }
      })
      // A command may only begin like one that was found.
      .filter(({ best }) => best < messages.length)
      .sort((a, b) => b.near - a.near || b.score - a.score || a.best - b.best)
      .map(({ runs }, n) => {
        const last = latestOf(runs)
        const whole = n < limit ? calls.target(last) : undefined
        const output = n < limit && last.isError === 1 ? calls.output(last) : undefined
        const error = named(output) ?? named(last.error) ?? last.error
        return summary(whole ?? last.target, runs, { ...last, error })
      })
  )
}

/** All runs of these calls' commands, not only the ones that the search looked at, command by command. */
function runsOf(
  db: Database,
  messages: readonly number[],
  project: string | undefined,
  calls: WholeCalls,
): ShellRun[][] {
  const rows = runsOfCommands(db, messages, project)
  const alike = Map.groupBy(rows, ({ target }) => unfiltered(target))
  return [...alike.values()].flatMap((runs) =>
    runs.length === 1 ? [runs] : [...Map.groupBy(runs, (run) => unfiltered(calls.key(run))).values()],
  )
}

const latestOf = (all: readonly ShellRun[]): ShellRun =>
  all.reduce((newest, one) => ((one.time ?? "") > (newest.time ?? "") ? one : newest))

const named = (output: string | null = null): string | undefined =>
  output === null ? undefined : errorLinesIn(output, true)[0]

function summary(command: string, runs: readonly ShellRun[], last: ShellRun): CommandRun {
  return {
    command,
    runs: runs.length,
    failures: runs.filter(({ isError }) => isError === 1).length,
    failed: last.isError === null ? null : last.isError === 1,
    exitCode: last.exitCode,
    error: last.error,
    time: last.time,
    handle: last.handle,
    ...takenBackOf(last),
  }
}
