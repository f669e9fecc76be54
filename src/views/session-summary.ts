/**
 * A session in short: what a model wrote about it, if `summarize` was run on it, and else what can be taken from it
 * without one.
 */

import { cut, oneLine } from "../base/text.ts"
import type { SummaryFields } from "../record/model-summary.ts"
import { runOf } from "../record/runners.ts"
import { pipelinesIn } from "../record/shell-script.ts"
import type { Database } from "./database.ts"
import { HANDLE_PREFIX } from "./handle-prefix.ts"
import { lastRun, latestRuns } from "./queries/calls.ts"
import type { Scope } from "./queries/scope.ts"
import { aboutSession, statementsIn, titlesOf } from "./queries/sessions.ts"
import { hasGoneOn, latestSummary, type Observation, observationsOf } from "./queries/summaries.ts"
import { pathsChanged } from "./queries/touched-files.ts"
import { turnsOf } from "./queries/turns.ts"
import { openTodos, parseTodos } from "./todos.ts"

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
  /** Its title, or its first prompt. */
  readonly request: string | null
  readonly decisions: readonly Said[]
  /** Where it worked last, if it said so. */
  readonly folder: string | null
  /** Whole paths of files that it changed, the latest first. */
  readonly files: readonly string[]
  /** The last run of tests, a check or a build; without one, the last command. */
  readonly outcome: Outcome | null
  /** Tasks that are still open. */
  readonly todos: readonly string[]
}

export type SessionSummary = ModelSummary | ExtractedSummary

interface Said {
  readonly text: string
  /** Of its turn, with `ctx:`. */
  readonly handle: string
}

interface Outcome {
  readonly command: string
  readonly failed: boolean
  readonly exitCode: number | null
}

const MOST_DECISIONS = 5
const MOST_FILES = 10
/** UTF-16 units of a command as it is shown. */
const MOST_COMMAND = 200
/** Runs of each outcome among which one of a test is looked for. */
const RUNS = 40

export const sessionSummary = (db: Database, session: string): SessionSummary =>
  modelSummary(db, session) ?? extractedSummary(db, session)

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

export function extractedSummary(db: Database, session: string): ExtractedSummary {
  const scope: Scope = [{ session, upTo: Number.MAX_SAFE_INTEGER, takenBack: 0 }]
  const about = aboutSession(db, session)
  return {
    kind: "extract",
    request: titlesOf(db, [session]).get(session) ?? null,
    decisions: statementsIn(db, scope, "decision", MOST_DECISIONS).map(({ text, handle }) => ({
      text,
      handle: HANDLE_PREFIX + handle,
    })),
    folder: about?.cwd ?? null,
    files: [...new Set(pathsChanged(db, session, 20 * MOST_FILES))].slice(0, MOST_FILES),
    outcome: outcomeIn(db, scope),
    todos: openTodos(parseTodos(about?.todos)).map(({ content }) => content),
  }
}

function outcomeIn(db: Database, scope: Scope): Outcome | null {
  const tested = latestRuns(db, scope, RUNS).find(({ script }) =>
    pipelinesIn(script)?.some(({ command }) => runOf(command) !== undefined),
  )
  if (tested !== undefined)
    return { command: tested.script, failed: tested.isError === 1, exitCode: tested.exitCode }
  const [good, bad] = [lastRun(db, scope, 0), lastRun(db, scope, 1)]
  const last = (bad?.result ?? -1) > (good?.result ?? -1) ? bad : good
  return last === undefined ? null : { command: last.command, failed: last === bad, exitCode: last.exitCode }
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
  const { request, decisions, folder, files, outcome, todos } = summary
  return [
    ...filled({ asked: request ?? "" }),
    ...decisions.map(({ text, handle }) => ({ label: "decided", text, handle })),
    ...filled({
      changed: files.map((path) => pathFrom(folder, path)).join(", "),
      outcome: outcome === null ? "" : `${cut(oneLine(outcome.command), MOST_COMMAND)} ${ending(outcome)}`,
      open: todos.join("; "),
    }),
  ]
}

/** Inside the session's folder, from there on. */
const pathFrom = (folder: string | null, path: string): string =>
  folder !== null && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path

const filled = (texts: Readonly<Record<string, string>>): SummaryPart[] =>
  Object.entries(texts).flatMap(([label, text]) => (text === "" ? [] : [{ label, text }]))

const ending = ({ failed, exitCode }: Outcome): string =>
  failed ? (exitCode === null ? "failed" : `failed with exit code ${exitCode}`) : "succeeded"

/** Whose words a summary is, to be shown with it. */
export const summarySource = (summary: SessionSummary): string =>
  summary.kind === "extract"
    ? "extracted from the session"
    : `written by a model (${summary.model})${summary.to === null ? "" : `, of turns up to ${summary.to}`}${summary.isBehind ? "; the session has gone on since" : ""}`
