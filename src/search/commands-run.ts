/**
 * How commands were run: each command with its runs, how the last one ended, and where. Runs whose outputs only went
 * through other filters are runs of the same command.
 */
import type { Database } from "../archive/database.ts"
import { runsOfCommands, type ShellRun } from "../archive/queries/calls.ts"
import { type TakenBack, takenBackOf } from "../archive/taken-back-mark.ts"
import { errorLinesIn } from "../transcript/error-lines.ts"
import { unfiltered } from "../transcript/failed-runs.ts"
import { runsCommand } from "../transcript/runs-command.ts"
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
 * Where something runs what is asked for, whatever only has its words in a path, a text or a pattern is left out.
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
  const wanted = commandWords(query)
  const found = runsOf(db, messages, project, calls)
  const running = found.map((runs) => (wanted === undefined ? 0 : howRun(runs, wanted, calls)))
  const isRun = running.some((how) => how > 0)
  return (
    found
      .map((runs, n) => {
        const command = unfiltered(runs[0]!.target)
        return {
          runs,
          best: runs.reduce((least, { use }) => Math.min(least, rank.get(use!) ?? least), messages.length),
          near: isRun ? running[n]! : nearness(command),
          score: closeness(command),
        }
      })
      // A command may only begin like one that was found.
      .filter(({ best, near }) => best < messages.length && (near > 0 || !isRun))
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

/** The words of a query that may be a command with its arguments: one alone may be anything. */
function commandWords(query: string): readonly string[] | undefined {
  const words = oneLine(query).toLowerCase().split(" ")
  return words.length > 1 && words.every((word) => /^[\w./:@=+-]+$/.test(word)) ? words : undefined
}

/** @returns as `runsCommand`; 0, too, for what does not have all the words */
function howRun([run]: readonly ShellRun[], wanted: readonly string[], calls: WholeCalls): number {
  const line = run!.target.toLowerCase()
  if (wanted.some((word) => !line.includes(word))) return 0
  // The line that the views keep may be cut, and does not show where a command ends that has a line of its own.
  return runsCommand(run!.target, wanted) || runsCommand(calls.target(run!) ?? "", wanted)
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
