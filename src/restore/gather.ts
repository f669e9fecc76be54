/** Reads the material for a restore from the views. */
import { isTool, toolKind } from "../agents/tool-kinds.ts"
import type { Database } from "../archive/database.ts"
import { NOTES_SESSIONS } from "../archive/notes-session.ts"
import { openTodos, parseTodos } from "../archive/todos.ts"
import { wasRun } from "../archive/was-run.ts"
import { cut } from "../util/text.ts"
import { gatherFacts } from "./facts.ts"
import { endsWithAnswer, filesShownAgain } from "./kept.ts"
import type { Brief, CommandRun, FileInFlight, Material, Quote, TurnLine } from "./material.ts"
import { movesOfSession, whereNow } from "./moved.ts"
import { belowFolder } from "./paths.ts"
import { gatherRelated } from "./related.ts"
import { type Scope, scopeOf } from "./scope.ts"
import { runsAgain, typed } from "./typed.ts"

/** Turns that a human started in this session: none of a subagent or from another tool's archive. */
const OWN = "via NOT IN ('none', 'brief') AND origin <> 'import'"
const MOST_TURNS = 60
/** More than there is room for, since the new context may already contain some. */
const MOST_NOTES = 30
const MOST_FILES = 10
/** How many later runs are searched for a success of a failed command. */
const MOST_RUNS = 200

interface AboutRow {
  readonly title: string | null
  readonly titleOrigin: string
  readonly ended: string | null
  readonly version: string | null
  readonly cwd: string | null
  readonly todos: string
}

/** A prompt that has not been fully answered. */
export interface PendingPrompt {
  readonly text: string
  /** Size of the transcript, in bytes, when the prompt arrived; its own line comes after that. */
  readonly at: number
}

export interface GatherOptions extends Pick<BriefOptions, "related" | "about" | "focus"> {
  readonly pending?: PendingPrompt | undefined
  /** Id of the last turn that counts. Default: the session's last. */
  readonly upTo?: number | undefined
}

/** Everything a restore may need. The cost does not depend on the length of the session. */
export function gather(db: Database, session: string, options: GatherOptions = {}): Material {
  const { pending: asked, related, about = asked?.text, focus, upTo } = options
  const scope = scopeOf(db, session, upTo)
  const brief = gatherBrief(db, session, { scope, turns: MOST_TURNS, related, about, focus })
  const last = brief.turns[0]
  const inProject = belowFolder(brief.cwd)
  // The views keep only the beginning of a long prompt, cut the same way as here.
  const stored = last !== undefined && asked !== undefined && isOf(last, asked) ? last : undefined
  return {
    ...brief,
    // A prompt whose author interrupted the model is not waiting for an answer.
    pending: stored?.interrupted === 1 ? undefined : asked?.text,
    pendingBegun: stored !== undefined && begun(stored),
    constraints: notes(db, scope, "constraint"),
    decisions: notes(db, scope, "decision"),
    refuted: notes(db, scope, "refuted"),
    files: filesInFlight(db, scope, brief.cwd),
    shownAgain: filesShownAgain(db, scope),
    lastAnswer: last !== undefined && endsWithAnswer(db, last.handle) ? last.answer : undefined,
    failing: failingCommand(db, scope),
    good: asRun(lastCommand(db, scope, 0)),
    facts: gatherFacts(db, scope, inProject),
  }
}

export interface BriefOptions {
  readonly scope?: Scope
  /** Maximum number of latest turns. */
  readonly turns?: number
  /** How many turns of other sessions are wanted. */
  readonly related?: number | undefined
  /** What they should be about. Default: the pending prompt or else the latest turn's. */
  readonly about?: string | undefined
  /** What the user asked for in addition; turns about it come first. */
  readonly focus?: string | undefined
}

/** Where a session was left: its last turns and what remained to be done. */
export function gatherBrief(db: Database, session: string, options: BriefOptions = {}): Brief {
  const { scope = scopeOf(db, session), turns: most = 1, related = 0, about, focus } = options
  const row = db
    .query<AboutRow, [string]>(
      "SELECT title, title_origin AS titleOrigin, ended, version, cwd, todos FROM sessions WHERE id = ?",
    )
    .get(session)
  const size = db
    .query<{ archived: number | null }, [string]>(
      "SELECT sum(archived) AS archived FROM transcripts WHERE session = ?",
    )
    .get(session)
  const turns = latestTurns(db, scope, most)
  const latest = about === undefined || about === turns[0]?.prompt ? turns[0] : undefined
  return {
    session,
    title: row?.titleOrigin === "import" ? undefined : (row?.title ?? undefined),
    ended: row?.ended ?? undefined,
    version: row?.version ?? undefined,
    cwd: row?.cwd ?? undefined,
    turnCount: countTurns(db, scope),
    archived: size?.archived ?? 0,
    todos: openTodos(parseTodos(row?.todos)),
    notes: notesKept(db, session),
    turns,
    related: gatherRelated(
      db,
      session,
      { focus, about: about ?? latest?.prompt ?? "", latest: latest?.handle },
      related,
    ),
  }
}

/** Selects sessions by name first: there is one notes session per project. */
function notesKept(db: Database, session: string): Brief["notes"] {
  const row = db
    .query<{ count: number; session: string }, [string, string]>(
      `SELECT count(*) AS count, n.id AS session FROM sessions n JOIN turns t ON t.session = n.id
       WHERE n.id GLOB ? AND n.project = (SELECT project FROM sessions WHERE id = ?) GROUP BY n.id`,
    )
    .get(NOTES_SESSIONS, session)
  return row ?? undefined
}

/** Whether this turn began with that prompt, and not with the same words earlier. */
const isOf = (turn: TurnLine, { text, at }: PendingPrompt): boolean =>
  turn.offset >= at && turn.prompt === cut(text, turn.prompt.length)

const begun = (turn: TurnLine): boolean => turn.tools > 0 || turn.answer !== ""

/** Leaves out turns `t` that the user took back, unless they count. */
const STANDS = "(t.taken_back = 0 OR ?3)"

/** The rows for all parts of the scope. `?1` is the session, `?2` the last turn that counts, `?3` as in STANDS. */
function rows<Row>(db: Database, scope: Scope, sql: string): Row[] {
  const query = db.query<Row, [string, number, number]>(sql)
  return scope.flatMap(({ session, upTo, takenBack }) => query.all(session, upTo, takenBack))
}

export function countTurns(db: Database, scope: Scope): number {
  const counts = rows<{ n: number }>(
    db,
    scope,
    `SELECT count(*) AS n FROM turns t WHERE session = ?1 AND id <= ?2 AND ${OWN} AND ${STANDS}`,
  )
  return counts.reduce((sum, { n }) => sum + n, 0)
}

function latestTurns(db: Database, scope: Scope, most: number): TurnLine[] {
  return rows<TurnLine & { id: number }>(
    db,
    scope,
    `SELECT id, handle, seq, first AS "offset", prompt, answer, tools, errors, interrupted FROM turns t
     WHERE session = ?1 AND id <= ?2 AND ${OWN} AND ${STANDS}
       AND NOT (via = 'command' AND tools = 0 AND answer = '')
     ORDER BY seq DESC LIMIT ${most}`,
  )
    .sort((a, b) => b.id - a.id)
    .slice(0, most)
    .map(({ id: _id, ...turn }) => turn)
}

/** Newest first, without duplicates. */
function notes(db: Database, scope: Scope, kind: "constraint" | "decision" | "refuted"): Quote[] {
  const found = rows<Quote & { turn: number }>(
    db,
    scope,
    `SELECT n.text, n.turn, t.handle FROM notes n JOIN turns t ON t.id = n.turn
     WHERE n.session = ?1 AND n.kind = '${kind}' AND n.turn <= ?2 AND ${STANDS}
       AND n.origin NOT IN ('subagent', 'import') AND instr(n.session, '/') = 0
     ORDER BY n.turn DESC, n.place DESC LIMIT ${2 * MOST_NOTES}`,
  ).sort((a, b) => b.turn - a.turn)
  const once = new Map<string, Quote>()
  for (const { text, handle } of found) if (!once.has(text)) once.set(text, { text, handle })
  return [...once.values()].slice(0, MOST_NOTES)
}

interface ChangedFile {
  readonly path: string
  readonly name: string
  readonly handle: string
  /** Id of the message with the last call. */
  readonly latest: number
}

/**
 * Files by the last call that changed each, newest first, since one turn may change a hundred. A file that was moved
 * later is listed where it is now.
 */
function filesInFlight(db: Database, scope: Scope, cwd: string | undefined): FileInFlight[] {
  const turns = rows<{ turn: number }>(
    db,
    scope,
    `SELECT DISTINCT f.turn FROM files f JOIN turns t ON t.id = f.turn
     WHERE f.session = ?1 AND f.turn <= ?2 AND f.op IN ('edit', 'write') AND ${STANDS}
     ORDER BY f.turn DESC LIMIT ${MOST_TURNS}`,
  ).sort((a, b) => b.turn - a.turn)
  const calls = db.query<ChangedFile, [number]>(
    `SELECT c.target AS path, c.name, t.handle, max(c.use) AS latest FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.turn = ?1 AND ${isTool("c.name", "edit", "write")} AND c.is_error IS NOT 1
       AND c.origin <> 'import'
     GROUP BY c.target ORDER BY latest DESC LIMIT ${MOST_FILES}`,
  )
  const moves = movesOfSession(db, scope, cwd)
  const latest = new Map<string, ChangedFile>()
  const formerly = new Map<string, string[]>()
  for (const { turn } of turns) {
    if (latest.size >= MOST_FILES) break
    for (const file of calls.all(turn)) {
      const now = whereNow(file.path, file.latest, moves)
      if (now === undefined) continue
      if (!latest.has(now)) latest.set(now, file)
      formerly.set(now, [...(formerly.get(now) ?? []), file.path])
    }
  }
  const told = [...latest].slice(0, MOST_FILES)
  const former = told.flatMap(([path]) => formerly.get(path)!)
  const times = timesChanged(db, scope, [...new Set(former)])
  return told.map(([path, { name, handle }]) => ({
    path,
    op: toolKind(name) === "write" ? "write" : "edit",
    times: [...new Set(formerly.get(path))].reduce((sum, one) => sum + (times.get(one) ?? 0), 0) || 1,
    handle,
  }))
}

/** Counts in a single walk over the session's changes: one walk per file costs 14 ms in a long session. */
function timesChanged(db: Database, scope: Scope, paths: readonly string[]): Map<string, number> {
  const query = db.query<{ path: string; n: number }, [string, number, number, string]>(
    `SELECT f.path, sum(f.count) AS n FROM files f JOIN turns t ON t.id = f.turn
     WHERE f.session = ?1 AND f.turn <= ?2 AND f.op IN ('edit', 'write') AND ${STANDS}
       AND f.path IN (SELECT value FROM json_each(?4)) GROUP BY f.path`,
  )
  const times = new Map<string, number>()
  for (const { session, upTo, takenBack } of scope) {
    for (const { path, n } of query.all(session, upTo, takenBack, JSON.stringify(paths)))
      times.set(path, (times.get(path) ?? 0) + n)
  }
  return times
}

interface CommandRow {
  readonly session: string
  readonly command: string
  readonly exitCode: number | null
  readonly error: string | null
  readonly handle: string
  /** Id of the message that holds the result. */
  readonly result: number
}

function lastCommand(db: Database, scope: Scope, isError: 0 | 1): CommandRow | undefined {
  return rows<CommandRow>(
    db,
    scope,
    `SELECT c.session, c.target AS command, c.exit_code AS exitCode, c.error, t.handle, c.result
     FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.session = ?1 AND c.turn <= ?2 AND ${isTool("c.name", "run")} AND c.is_error = ${isError}
       AND c.origin <> 'import' AND ${wasRun("c")} AND ${STANDS}
     ORDER BY c.result DESC LIMIT 1`,
  ).sort((a, b) => b.result - a.result)[0]
}

function asRun(row: CommandRow | undefined): CommandRun | undefined {
  if (row === undefined) return undefined
  const { command, handle } = row
  return { command, exitCode: row.exitCode ?? undefined, error: row.error ?? "", handle }
}

/** The last command that failed, unless it has succeeded since, even with its output redirected elsewhere. */
function failingCommand(db: Database, scope: Scope): CommandRun | undefined {
  const row = lastCommand(db, scope, 1)
  if (row === undefined) return undefined
  const query = db.query<{ target: string }, [string, string, number, number]>(
    `SELECT c.target FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.session = ?1 AND ${isTool("c.name", "run")} AND c.is_error = 0 AND c.result > ?4 AND instr(c.target, ?2) > 0
       AND ${STANDS}
     ORDER BY c.result DESC LIMIT ${MOST_RUNS}`,
  )
  const failed = typed(row.command)
  const isMended = scope
    .flatMap(({ session, takenBack }) => query.all(session, failed.command, takenBack, row.result))
    .some(({ target }) => runsAgain(failed, typed(target)))
  return isMended ? undefined : asRun(row)
}
