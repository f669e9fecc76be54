/**
 * A session in short: what a model wrote about it, if `summarize` was run on it, and else what can be taken from it
 * without one.
 */

import { mayBeCut } from "../agents/tool-kinds.ts"
import { count, cut, oneLine } from "../base/text.ts"
import type { SummaryFields } from "../record/model-summary.ts"
import { lastWordsIn } from "../record/noted-sentences.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import { mostResults, resultsOf } from "../record/run-results.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { readLabels } from "../views/labels.ts"
import { lastRun, latestRuns } from "../views/queries/calls.ts"
import { lastAnswers, lastKinds } from "../views/queries/messages.ts"
import type { Scope } from "../views/queries/scope.ts"
import { aboutSession, statementsIn, titlesOf } from "../views/queries/sessions.ts"
import { hasGoneOn, latestSummary, type Observation, observationsOf } from "../views/queries/summaries.ts"
import { pathsChanged } from "../views/queries/touched-files.ts"
import { firstPrompts, latestTurns, turnId, turnsOf } from "../views/queries/turns.ts"
import { openTodos, parseTodos } from "../views/todos.ts"
import { MessageTexts } from "./message-text.ts"
import { WholeCalls } from "./whole-matches.ts"

/** A model's words. Whoever shows them says so. */
interface ModelSummary {
  readonly kind: "model"
  readonly model: string
  /** When it was written, in ISO 8601. */
  readonly written: string
  /** The last turn that the model has read, with `ctx:`; null if it is gone. */
  readonly to: string | null
  /** Whether the session has gone on since. */
  readonly isBehind: boolean
  readonly fields: SummaryFields
  readonly observations: readonly Observation[]
}

/** Sentences, names and commands of the session itself. */
interface ExtractedSummary {
  readonly kind: "extract"
  /** The first prompt that says something, or its title. */
  readonly request: string | null
  readonly decisions: readonly Decision[]
  /** Where it worked last, if it said so. */
  readonly folder: string | null
  /** Whole paths of the latest files that it changed, the latest first, and how many there are of all. */
  readonly files: readonly string[]
  readonly filesChanged: number
  /** The last run of tests, a check or a build; without one, the last command. */
  readonly outcome: Outcome | null
  /** What came out: the last runs that tell it, and what was committed, pushed, merged or published; the latest last. */
  readonly results: readonly string[]
  /** What the model said last. */
  readonly said: LastWords | null
  /** Tasks that are still open. */
  readonly todos: readonly string[]
}

export type SessionSummary = ModelSummary | ExtractedSummary

interface Said {
  readonly text: string
  /** Of its turn, with `ctx:`. */
  readonly handle: string
}

interface Decision extends Said {
  /** Set if the user says that it does not hold. */
  readonly isOver?: true
}

interface LastWords extends Said {
  /** Whether it asks the user something, who has not answered. */
  readonly isQuestion: boolean
}

interface Outcome {
  readonly command: string
  readonly failed: boolean
  readonly exitCode: number | null
}

/** What of the archive a session summary is made of. */
interface SummarySource {
  readonly db: Database
  readonly dataHome: string
  readonly readers: CopyReaders
}

const MOST_DECISIONS = 5
const MOST_FILES = 10
const FILES_SHOWN = 6
/** Rows of files that are counted. */
const FILES_COUNTED = 1000
/** UTF-16 units of a request, and of a command in a result. */
const MOST_REQUEST = 300
const MOST_COMMAND = 60
/** Runs of each outcome among which one of a test is looked for. */
const RUNS = 40
/** Of these, how many scripts are read from the vault with their outputs, and in lines of how many bytes. */
const MOST_READ = 8
const LONGEST_LINE = 256 << 10
/** Turns whose answer may be the last words: the last one may have none. */
const LAST_TURNS = 4
/** Prompts among which the first that says something is looked for. */
const FIRST_PROMPTS = 6
/** UTF-16 units of an answer that is as long as the views keep it: its end may be missing. */
const ANSWER_CUT = 1199

export const sessionSummary = (source: SummarySource, session: string): SessionSummary =>
  modelSummary(source.db, session) ?? extractedSummary(source, session)

function modelSummary(db: Database, session: string): ModelSummary | undefined {
  const row = latestSummary(db, session)
  if (row === undefined) return undefined
  const last = turnsOf(db, session).find(({ seq }) => seq === row.seq)
  return {
    kind: "model",
    model: row.model,
    written: row.time,
    to: last === undefined ? null : HANDLE_PREFIX + last.handle,
    isBehind: hasGoneOn(db, session, row),
    fields: row.fields,
    observations: observationsOf(db, session),
  }
}

function extractedSummary(source: SummarySource, session: string): ExtractedSummary {
  const { db } = source
  const labels = readLabels(source.dataHome)
  const scope: Scope = [{ session, upTo: Number.MAX_SAFE_INTEGER, takenBack: 0 }]
  const about = aboutSession(db, session)
  const files = [...new Set(pathsChanged(db, session, FILES_COUNTED))]
  return {
    kind: "extract",
    request: requestOf(db, session),
    decisions: statementsIn(db, scope, "decision", MOST_DECISIONS).map(({ text, handle }) => ({
      text,
      handle: HANDLE_PREFIX + handle,
      ...(labels.verdictOn(HANDLE_PREFIX + handle) && { isOver: true }),
    })),
    folder: about?.cwd ?? null,
    files: files.slice(0, MOST_FILES),
    filesChanged: files.length,
    ...outcomeIn(source, scope),
    said: lastWords(source, scope),
    todos: openTodos(parseTodos(about?.todos)).map(({ content }) => content),
  }
}

/** Prompts that ask for nothing by themselves, and commands without any text. */
const LITTLE =
  /^(?:\/[\w:.-]+|(?:(?:please|ok(?:ay)?|yes|yep|yeah|y|no|n|go|go on|go ahead|continue|keep going|proceed|next|do it|sure|thanks?|thank you|hi|hello|hey|test|ping|again|retry|try again|done|stop|wait|ja|nein|weiter|mach weiter|danke|hallo|sí|si|sigue|continúa|gracias|hola|继续|好的?|是的?|谢谢|你好)[\s,.!?。！？]*)+)$/iu

export const isLittle = (prompt: string): boolean => LITTLE.test(prompt.trim())

/** "continue" and the like are no request, if another prompt is. */
function requestOf(db: Database, session: string): string | null {
  const telling = firstPrompts(db, session, FIRST_PROMPTS).find((prompt) => !isLittle(prompt))
  return telling ?? titlesOf(db, [session]).get(session) ?? null
}

/** By session: its title, else its first prompt that says something. Sessions that have neither are left out. */
export function tellingTitles(db: Database, sessions: readonly string[]): Map<string, string> {
  const titles = titlesOf(db, sessions)
  for (const [session, title] of titles)
    if (isLittle(title)) titles.set(session, requestOf(db, session) ?? title)
  return titles
}

type ScriptResult = ReturnType<typeof resultsOf>[number]
type ScriptRun = ReturnType<typeof latestRuns>[number]

/** The latest of each kind, as far as it is known how it ended. Of an earlier one, nothing is said instead. */
function outcomeIn(source: SummarySource, scope: Scope): Pick<ExtractedSummary, "outcome" | "results"> {
  const { db, dataHome, readers } = source
  const calls = new WholeCalls(db, dataHome, readers)
  const results: string[] = []
  const told = new Set<string>()
  const runs = latestRuns(db, scope, RUNS).filter(({ script }) => mostResults(script) > 0)
  let last: ScriptRun | undefined
  let read = 0
  for (const run of runs) {
    if (read === MOST_READ) break
    if (isTold(run, told)) continue
    read++
    const isShort = (run.length ?? 0) < LONGEST_LINE && run.resultLength < LONGEST_LINE
    const found = resultsOf((isShort ? calls.target(run) : undefined) ?? run.script, {
      isError: run.isError === 1,
      output: isShort ? calls.output(run) : undefined,
    })
    if (found.some(isRun)) last ??= run
    const news: string[] = []
    for (const result of found.toReversed()) {
      const isNews = result.names.some((name) => !told.has(name))
      for (const name of result.names) told.add(name)
      if (isNews && result.ending !== undefined) news.unshift(resultText(result))
    }
    results.unshift(...news)
  }
  // Of those that were not read, their line tells.
  last ??= runs.find(({ script }) => inLine(script).some(isRun))
  return { outcome: last === undefined ? lastCommandIn(db, scope) : asOutcome(last), results }
}

const asOutcome = ({ script, isError, exitCode }: ScriptRun): Outcome => ({
  command: script,
  failed: isError === 1,
  exitCode,
})

const isRun = ({ ending }: ScriptResult): boolean => ending !== "done"

/** What one line of a script has results of. */
const inLine = (script: string): ScriptResult[] => resultsOf(script, { isError: false, output: undefined })

/** Whether a script plainly has nothing but results of which later ones are told. Its line may have been several. */
function isTold({ script, length }: ScriptRun, told: ReadonlySet<string>): boolean {
  if (told.size === 0 || mayBeCut(script, length ?? 0)) return false
  const found = inLine(script)
  return (
    found.length >= mostResults(script) && found.every(({ names }) => names.every((name) => told.has(name)))
  )
}

function lastCommandIn(db: Database, scope: Scope): Outcome | null {
  const [good, bad] = [lastRun(db, scope, 0), lastRun(db, scope, 1)]
  const last = (bad?.result ?? -1) > (good?.result ?? -1) ? bad : good
  return last === undefined ? null : { command: last.command, failed: last === bad, exitCode: last.exitCode }
}

/** `tests: 42 passed, 1 failed (npm test)`, `PR #12 opened` */
function resultText({ names, text, ending, counts }: ScriptResult): string {
  if (ending === "done") return text
  const { passed, failed, packages, problems } = counts
  const name = names.join(" or ")
  const counted = [passed === undefined ? "" : `${passed} passed`, failed ? `${failed} failed` : ""]
  const numbers = counted.filter((one) => one !== "").join(", ")
  const plain = {
    passed: `${name === "build" ? "succeeded" : "passed"}${packages === undefined ? "" : ` in ${count(packages, "package")}`}`,
    failed: `failed${problems === undefined ? "" : `: ${problems}`}`,
    stopped: "stopped before the end",
  }
  const how = numbers === "" || ending === "stopped" ? ` ${plain[ending!]}` : `: ${numbers}`
  return `${name}${how} (${cut(text, MOST_COMMAND)})`
}

function lastWords({ db, dataHome, readers }: SummarySource, scope: Scope): LastWords | null {
  const turns = latestTurns(db, scope, LAST_TURNS)
  const last = turns.find(({ answer }) => answer !== "")
  if (last === undefined) return null
  const isLast = last === turns[0] && last.interrupted === 0 && lastKinds(db, last.handle, 1)[0] === "answer"
  const isCut = last.answer.length >= ANSWER_CUT
  const whole = isLast && isCut ? wholeAnswer(db, dataHome, readers, turnId(db, last.handle)) : undefined
  const words = lastWordsIn(whole ?? last.answer, isLast && (!isCut || whole !== undefined))
  return words === undefined ? null : { ...words, handle: HANDLE_PREFIX + last.handle }
}

function wholeAnswer(db: Database, dataHome: string, readers: CopyReaders, turn: number): string | undefined {
  const message = lastAnswers(db, [turn]).get(turn)
  return message === undefined ? undefined : new MessageTexts(db, dataHome, readers).of(message)?.text
}

interface SummaryPart {
  readonly label: string
  readonly text: string
  /** What the text is about, with `ctx:` or `obs:`. */
  readonly handle?: string
}

/** What there is to show, in this order, without observations. Not yet escaped for any place. */
export function summaryParts(summary: SessionSummary): SummaryPart[] {
  if (summary.kind === "model") {
    const { request, investigated, learned, completed, next } = summary.fields
    return filled({ asked: request, investigated, learned, done: completed, next })
  }
  const { request, decisions, folder, files, filesChanged, results, said, todos } = summary
  const paths = files.map((path) => pathFrom(folder, path))
  // What lies elsewhere is mostly notes and scratch files.
  const isElsewhere = (path: string): boolean => path.startsWith("/")
  const inOrder = [...paths.filter((path) => !isElsewhere(path)), ...paths.filter(isElsewhere)]
  const shown = inOrder.slice(0, FILES_SHOWN)
  const more = filesChanged - shown.length
  const changed = `${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`
  return [
    ...filled({ asked: cut(oneLine(request ?? ""), MOST_REQUEST) }),
    ...decisions.map(({ text, handle, isOver }) => ({
      label: isOver ? "decided, and no longer holds" : "decided",
      text,
      handle,
    })),
    ...filled({ changed, outcome: results.join("; ") }),
    ...(said === null || decisions.some(({ text }) => text === said.text)
      ? []
      : [
          {
            label: said.isQuestion ? "waits for an answer" : "said last",
            text: said.text,
            handle: said.handle,
          },
        ]),
    ...filled({ open: todos.join("; ") }),
  ]
}

/** Inside the session's folder, from there on. */
const pathFrom = (folder: string | null, path: string): string =>
  folder !== null && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path

const filled = (texts: Readonly<Record<string, string>>): SummaryPart[] =>
  Object.entries(texts).flatMap(([label, text]) => (text === "" ? [] : [{ label, text }]))

/** Whose words a summary is, to be shown with it. */
export const summarySource = (summary: SessionSummary): string =>
  summary.kind === "extract"
    ? "extracted from the session"
    : `written by a model (${summary.model})${summary.to === null ? "" : `, of turns up to ${summary.to}`}${summary.isBehind ? "; the session has gone on since" : ""}`
