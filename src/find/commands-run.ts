/** How commands were run, found by their words or by what they are for. */
import { SHELL_KINDS, toolsOf } from "../agents/tool-kinds.ts"
import { oneLine } from "../base/text.ts"
import { stem, wordSet } from "../base/words.ts"
import { errorLinesIn } from "../record/error-lines.ts"
import { programOf } from "../record/runners.ts"
import { unfiltered } from "../record/script-essence.ts"
import { pipelinesIn, shellWords } from "../record/shell-script.ts"
import type { Database } from "../views/database.ts"
import { runsOfCommands, type ShellRun } from "../views/queries/calls.ts"
import { type TakenBack, takenBackOf, type Whose } from "../views/queries/scope.ts"
import { promptsOf } from "../views/queries/turns.ts"
import { candidatesIn, hasTerm } from "./candidates.ts"
import { hasWord } from "./fts-expression.ts"
import { parseQuery, partsAsked, type Term } from "./parse-query.ts"
import { bestFirst } from "./rank.ts"
import { isAsking } from "./topic-words.ts"
import type { Topic } from "./topics.ts"
import { WholeCalls } from "./whole-matches.ts"

/** Number of calls of each tool considered. */
const CALLS = 300
/** Number of those that are read to tell what they are for. */
const CALLS_READ = 80

export function commandsAbout({ db, dataHome, readers, text, project, program, limit }: Topic): CommandRun[] {
  const { terms } = parseQuery(text)
  const whose = { project, program }
  const scope = candidatesIn(db, terms, whose)
  const weights = new Map(scope?.terms.map(({ word, weight }) => [word, weight]))
  const question = questionOf(text, ({ word }) => weights.get(word))
  const found = toolsOf(...SHELL_KINDS).flatMap((tool) => {
    const calls = candidatesIn(db, terms, { ...whose, role: "assistant", tool })
    if (calls === undefined) return []
    const chosen = bestFirst(calls, CALLS)
    const prompts = promptsOf(db, chosen)
    const wordsOf = new Map([...new Set(prompts.values())].map((prompt) => [prompt, wordSet(prompt)]))
    return chosen
      .filter((id) => {
        const said = wordsOf.get(prompts.get(id) ?? "")
        const has = hasTerm(calls, id)
        return mayFit(question, (term) => has(term) || said?.has(term.word) === true)
      })
      .slice(0, CALLS_READ)
  })
  const calls = new WholeCalls(db, dataHome, readers)
  return commandsRun(db, text, found, { whose, limit, calls, question })
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
  readonly whose: Whose
  /**
   * How many commands, best first, are read from the vault. The others are shown as the one line that the views keep.
   */
  readonly limit: number
  readonly calls: WholeCalls
  readonly question: Question
}

/** Runs of a command that are read to tell what it is for. */
const READ = 2

/**
 * Commands that are for what was asked. Best first: those that run it or begin with it, then by how much of the question
 * they are for. Of two with the same words, the shorter is more to the point.
 *
 * Where something runs what is asked for, whatever only has its words in a path, a text or a pattern is left out, or
 * comes last if that is one word.
 *
 * @param messages calls that contain words of the query, best first
 */
function commandsRun(
  db: Database,
  query: string,
  messages: readonly number[],
  { whose, limit, calls, question }: CommandsRequest,
): CommandRun[] {
  const { terms } = parseQuery(query)
  const closeness = (command: string): number => {
    const own = wordSet(command)
    return terms.filter(({ word, isPrefix }) => hasWord(own, word, isPrefix)).length / Math.sqrt(own.size + 1)
  }
  const begins = new RegExp(`(?:^|[;&|] )${RegExp.escape(oneLine(query))}(?![\\w-])`, "i")
  const rank = new Map(messages.map((id, n) => [id, n]))
  const wanted = commandWords(query)
  // A command may only begin like one that was found.
  const found = runsOf(db, messages, whose, calls).filter((runs) => runs.some(({ use }) => rank.has(use!)))
  const running = found.map((runs) => (wanted === undefined ? 0 : howRun(runs, wanted, calls)))
  const isRun = running.some((how) => how > 0)
  const isOneWord = wanted?.length === 1
  const prompts = isRun && !isOneWord ? new Map<number, string>() : promptsOf(db, messages)
  const fit = (runs: readonly ShellRun[]): number => {
    const read = runs.filter(({ use }) => rank.has(use!)).slice(0, READ)
    const purposes = read.map((run) => ({ ...calls.script(run), prompt: prompts.get(run.use!) ?? "" }))
    return Math.max(...purposes.map((purpose) => fitOf(question, purpose)))
  }
  return found
    .map((runs, n) => {
      const command = unfiltered(runs[0]!.target)
      const isBegun = begins.test(command)
      const isSought = isRun && (!isOneWord || running[n]! > 0)
      return {
        runs,
        best: runs.reduce((least, { use }) => Math.min(least, rank.get(use!) ?? least), messages.length),
        near: isRun ? running[n]! : isBegun ? 2 : 0,
        fit: isSought || isBegun ? 1 : fit(runs),
        score: closeness(command),
      }
    })
    .filter(({ near, fit }) => (isRun && !isOneWord ? near > 0 : fit > 0))
    .sort((a, b) => b.near - a.near || b.fit - a.fit || b.score - a.score || a.best - b.best)
    .map(({ runs }, n) => {
      const last = latestOf(runs)
      const whole = n < limit ? calls.target(last) : undefined
      const output = n < limit && last.isError === 1 ? calls.output(last) : undefined
      const error = named(output) ?? named(last.error) ?? last.error
      return summary(whole ?? last.target, runs, { ...last, error })
    })
}

/** The words of a query that may be a command with its arguments. One alone may be a program, or anything else. */
function commandWords(query: string): readonly string[] | undefined {
  const words = oneLine(query).toLowerCase().split(" ")
  if (words.length === 1 && WORD_OF_SHELL.test(words[0]!)) return undefined
  return words.every((word) => /^[\w./:@=+-]+$/.test(word)) ? words : undefined
}

/** Scripts have them as grammar; whoever asks means something else. */
const WORD_OF_SHELL = /^(?:test|time|true|false|set|read|for|do|if|in|case|exit|return|source|local|export)$/

/** @returns as `runsCommand`; 0, too, for what does not have all the words */
function howRun([run]: readonly ShellRun[], wanted: readonly string[], calls: WholeCalls): number {
  const line = run!.target.toLowerCase()
  if (wanted.some((word) => !line.includes(word))) return 0
  // The line that the views keep may be cut, and does not show where a command ends that has a line of its own.
  return runsCommand(run!.target, wanted) || runsCommand(calls.target(run!) ?? "", wanted)
}

/** All runs of these calls' commands, not only the ones that the search looked at, command by command. */
function runsOf(db: Database, messages: readonly number[], whose: Whose, calls: WholeCalls): ShellRun[][] {
  const rows = runsOfCommands(db, messages, whose)
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

/*
 * Whether a command is for what a question names: by the words of what it runs, of its description and of the prompt
 * that it was run for. What it only looks for, prints or writes says nothing of its purpose. Pure.
 */

/** A run of a command, as far as it tells what the command is for. */
interface PurposeOf {
  /** In full. */
  readonly script: string
  /** What the model wrote beside it; empty if nothing. */
  readonly description: string
  /** Of its turn. */
  readonly prompt: string
}

interface Question {
  /** Each name of the question with the words of its parts. */
  readonly names: readonly {
    readonly terms: readonly Term[]
    readonly weight: number
    readonly isKnown: boolean
  }[]
  /** Whether it is one name: then whoever asks has it from the command. */
  readonly isName: boolean
}

/** Two words that are one name. */
const PAIRS = /\bpull\s+requests?\b/gi

/**
 * @param weightOf how much a word tells; undefined if nobody has said it
 */
export function questionOf(text: string, weightOf: (term: Term) => number | undefined): Question {
  const joined = text.replace(PAIRS, (words) => words.replace(/\s+/g, "-"))
  const all = [...Map.groupBy(partsAsked(parseQuery(joined)), ({ typed }) => typed)]
  const telling = all.filter(([typed]) => !isAsking(typed.toLowerCase()))
  const most = Math.max(1, ...all.flatMap(([, terms]) => terms.map((term) => weightOf(term) ?? 0)))
  const names = (telling.length > 0 ? telling : all).map(([, terms]) => ({
    terms,
    weight: Math.max(...terms.map((term) => weightOf(term) ?? most)),
    isKnown: terms.every((term) => weightOf(term) !== undefined),
  }))
  return { names, isName: all.length === 1 }
}

/** The share of a question, by what its words tell, that must be met; more if nobody has said one of them. */
const MET = 0.4
const MET_OF_KNOWN = 0.75

/** How many of the names must be met. */
const leastOf = ({ names }: Question): number =>
  names.length === 1 ? 1 : Math.max(2, Math.ceil(names.length / 2))

/** @param has whether a word is in the call, its prompt included: what has too few of them need not be read */
const mayFit = (question: Question, has: (term: Term) => boolean): boolean =>
  question.names.filter(({ terms }) => terms.every((term) => has(term) || SHORT_OF.has(term.word))).length >=
  leastOf(question)

/** @returns 0 if the command is for something else; else how much of the question it is for, up to 1 */
export function fitOf(question: Question, { script, description, prompt }: PurposeOf): number {
  const { names } = question
  const own = wordSet(`${runningWords(script)} ${description}`)
  const asked = wordSet(prompt)
  const all = names.reduce((sum, { weight }) => sum + weight, 0)
  const metBy = (...sets: readonly ReadonlySet<string>[]) =>
    names.filter(({ terms }) =>
      terms.every(({ word, isPrefix }) =>
        sets.some((words) => hasWord(words, word, isPrefix) || hasShort(words, word)),
      ),
    )
  const met = question.isName ? names : metBy(own, asked)
  const share = (some: typeof names): number =>
    all === 0 ? 0 : some.reduce((sum, { weight }) => sum + weight, 0) / all
  const least = names.every(({ isKnown }) => isKnown) ? MET : MET_OF_KNOWN
  if (met.length < leastOf(question) || share(met) < least) return 0
  const byOwn = metBy(own)
  if (byOwn.length === 0) {
    // The words may be anywhere in what a prompt with all of them led to.
    const isMeant = question.isName || met.length === names.length
    if (!isMeant || metBy(wordSet(withoutSearches(script))).length === 0) return 0
  }
  return Math.max(Number.EPSILON, share(byOwn))
}

/** What people write in short when they run something and in full when they ask, or the other way round. */
const SHORT: Readonly<Record<string, string>> = {
  pr: "pull request",
  repo: "repository",
  config: "configuration",
  deps: "dependencies",
  env: "environment",
  db: "database",
  docs: "documentation",
  dir: "directory",
  auth: "authentication",
  k8s: "kubernetes",
}
const SHORT_OF = new Map<string, string[]>()
for (const [short, long] of Object.entries(SHORT)) {
  for (const word of long.split(" ")) SHORT_OF.set(stem(word), [stem(short)])
  if (!long.includes(" ")) SHORT_OF.set(stem(short), [stem(long)])
}

const hasShort = (words: ReadonlySet<string>, word: string): boolean =>
  SHORT_OF.get(word)?.some((one) => words.has(one)) === true

/** They look at what their arguments name, print them or record them. */
const LOOKS =
  /^(?:e|f|z)?grep$|^(?:rg|ag|ack|find|fd|echo|printf|ls|cat|bat|head|tail|less|more|wc|tree|stat|file|sed|awk|sort|diff|true|test|cd)$/
/** The same of git: what was committed, and how, is no purpose of a command. */
const GIT_LOOKS = /^git(?: -\S+)* (?:add|commit|grep|log|show|diff|blame)\b/
/** Words of a quoted argument from which on it is a text. A script in quotation marks is run, whatever its length. */
const TEXT = 3
const SHELLS = /^(?:(?:ba|z|da|k|fi)?sh|ssh|eval|docker|podman|kubectl|watch|xargs|time)$/

/** A script without its commands that search: their words are what is looked for. */
function withoutSearches(script: string): string {
  const searches = (pipelinesIn(script) ?? []).filter(({ command }) => SEARCHES.test(programOf(command)))
  return searches.reduce((rest, { line }) => rest.replace(line, () => ""), script)
}

const SEARCHES = /^(?:git(?: -\S+)* grep|(?:e|f|z)?grep|rg|ag|ack|find|fd)\b/

/** The words of a script that say what it does: neither texts and patterns, nor the lines of here-documents. */
export function runningWords(script: string): string {
  const pipelines = pipelinesIn(script)
  if (pipelines === undefined) return script.split("\n", 1)[0]!
  return pipelines.flatMap(({ command }) => wordsOfCommand(command)).join(" ")
}

function wordsOfCommand(command: string): string[] {
  const program = programOf(command)
  const name = program.split(" ", 1)[0]!
  if (LOOKS.test(name)) return [name]
  if (GIT_LOOKS.test(program)) return [program.split(" ", 2).join(" ")]
  const isShell = SHELLS.test(name)
  return shellWords(command)
    .filter(({ word, quoted }) => !quoted || isShell || word.split(/\s+/).length < TEXT)
    .map(({ word }) => word)
}
