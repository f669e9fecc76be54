/** What followed an error: the calls made until the same thing next succeeded. */
import { isShell } from "../agents/tool-kinds.ts"
import { once } from "../base/once.ts"
import { oneLine } from "../base/text.ts"
import { wordSet } from "../base/words.ts"
import { errorLinesIn } from "../record/error-lines.ts"
import { unfiltered } from "../record/failed-runs.ts"
import { programOf } from "../record/runners.ts"
import { pipelinesIn, shellWords } from "../record/shell-script.ts"
import type { Database } from "../views/database.ts"
import { HANDLE_PREFIX } from "../views/handle-prefix.ts"
import {
  type CallInTurn,
  callsAfter,
  failedCall,
  runsOfCommands,
  type ShellRun,
} from "../views/queries/calls.ts"
import { type TakenBack, takenBackOf } from "../views/taken-back-mark.ts"
import { hasWord } from "./fts-expression.ts"
import { parseQuery } from "./parse-query.ts"
import type { WholeCalls } from "./whole-matches.ts"

/** `takenBack` is that of the turn of the error. */
export interface Fix extends TakenBack {
  /** The turn of the error, with `ctx:`. */
  readonly handle: string
  readonly time: string | null
  readonly tool: string
  readonly target: string
  readonly error: string
  /** Calls made after it, in order: the last ones before the success, or the first ones when it never succeeded. */
  readonly steps: readonly FixStep[]
  /** The turn in which the same call succeeded; null when it never did in this session. */
  readonly solvedIn: string | null
  /** Whether that turn was taken back. */
  readonly solutionTakenBack?: true
  /** What the model said at the end of that turn, or of the error's turn when there is none. */
  readonly answer: string
}

interface FixStep {
  readonly tool: string
  readonly target: string
  readonly failed: boolean
}

/** How many calls after an error are examined, and how many of them are reported. */
const LOOKED_AT = 400
const TOLD = 8

type WholeFix = () => Pick<Fix, "target" | "error" | "steps">

/**
 * @param messages results that were found, best first
 * @returns each fix with a function that reads its full texts from the vault; the fix itself has the views' short ones
 */
export function fixesFor(
  db: Database,
  messages: readonly number[],
  calls: WholeCalls,
): (readonly [Fix, WholeFix])[] {
  // The calls after one error are mostly those after the next as well.
  const scripts = new Map<string, string>()
  const scriptOf = (text: string): string => {
    const known = scripts.get(text) ?? unfiltered(text)
    scripts.set(text, known)
    return known
  }
  return messages.flatMap((message) => {
    const failed = failedCall(db, message)
    return failed === null ? [] : [fixOf(db, failed, calls, isShell(failed.name) ? scriptOf : (text) => text)]
  })
}

/** @param essence what calls must share to be the same */
function fixOf(
  db: Database,
  failed: CallInTurn,
  calls: WholeCalls,
  essence: (target: string) => string,
): readonly [Fix, WholeFix] {
  const after = callsAfter(db, failed, LOOKED_AT)
  const target = essence(failed.target)
  const key = once(() => essence(calls.key(failed)))
  const isSame = (one: CallInTurn): boolean =>
    one.name === failed.name && essence(one.target) === target && essence(calls.key(one)) === key()
  const at = after.findIndex((one) => one.isError === 0 && one.error === null && isSame(one))
  const solved = at < 0 ? undefined : after[at]!
  const until = at < 0 ? after.slice(0, TOLD) : after.slice(0, at).slice(-TOLD)
  const stepOf = (call: CallInTurn, target: string): FixStep => ({
    tool: call.name,
    target,
    failed: call.isError === 1 || call.error !== null,
  })
  const fix: Fix = {
    handle: HANDLE_PREFIX + failed.handle,
    time: failed.time,
    tool: failed.name,
    target: failed.target,
    error: failed.error ?? "",
    steps: until.map((call) => stepOf(call, call.target)),
    solvedIn: solved === undefined ? null : HANDLE_PREFIX + solved.handle,
    answer: (solved ?? failed).answer,
    ...takenBackOf(failed),
    ...(solved?.takenBack === 1 ? { solutionTakenBack: true } : {}),
  }
  const wholeFix: WholeFix = () => ({
    target: calls.target(failed) ?? fix.target,
    error: calls.output(failed) ?? fix.error,
    steps: until.map((call) => stepOf(call, calls.target(call) ?? call.target)),
  })
  return [fix, wholeFix]
}

/*
 * How commands were run: each command with its runs, how the last one ended, and where. Runs whose outputs only went
 * through other filters are runs of the same command.
 */

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

interface CommandsRequest {
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

/*
 * Whether a script runs a command, or only has its words in it: in a path, in what it prints, looks for or writes. Pure.
 */

/** They run what their arguments say, in a shell or elsewhere. */
const ELSEWHERE =
  /^(?:(?:ba|z|da|k|fi)?sh|eval|ssh|su|watch|xargs|find|parallel|entr|watchexec|hyperfine|docker|docker-compose|podman|kubectl|nerdctl|vagrant|flyctl|heroku|script|screen|tmux|strace|perf|time|make|just)$/
/** A script in a script in a script is enough. */
const DEEPEST = 3

/**
 * @param words of the command, the program first, in lower case
 * @returns 2: runs it as it stands here; 1: with something between its words, or through another program; 0: no
 */
export function runsCommand(script: string, words: readonly string[], depth = 0): 0 | 1 | 2 {
  let best: 0 | 1 = 0
  for (const { command, filters } of pipelinesIn(script) ?? []) {
    for (const one of [command, ...filters]) {
      const found = runsIt(one, words, depth)
      if (found === 2) return 2
      if (found === 1) best = 1
    }
  }
  return best
}

function runsIt(command: string, wanted: readonly string[], depth: number): 0 | 1 | 2 {
  const all = shellWords(programOf(command))
  const words = all.map(({ word, quoted }) => (quoted ? "" : word.toLowerCase()))
  const [program = "", ...others] = words
  if (program === wanted[0]) {
    if (begins(words, wanted)) return 2
    if (holdsInOrder(others, wanted.slice(1))) return 1
  }
  if (!ELSEWHERE.test(program)) return 0
  if (others.some((_, n) => begins(others.slice(n), wanted))) return 1
  if (depth >= DEEPEST) return 0
  return all.some(({ word, quoted }) => quoted && runsCommand(word, wanted, depth + 1) > 0) ? 1 : 0
}

const begins = (words: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((word, n) => words[n] === word)

function holdsInOrder(words: readonly string[], wanted: readonly string[]): boolean {
  let met = 0
  for (const word of words) if (word === wanted[met]) met++
  return met === wanted.length
}
