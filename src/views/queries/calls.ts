/** Rows of tool calls: what was run, read or changed, and how it ended. */

import { NOT_RUN } from "../../agents/errors-met.ts"
import { isTool, SHELL_KINDS } from "../../agents/tool-kinds.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import type { Database } from "../database.ts"
import type { LinePlace } from "./messages.ts"
import { isAtHome, isWhose, rowsIn, type Scope, STANDS, type Whose } from "./scope.ts"

/** Versions of Claude Code before 2.0 do not tell how a command ended. */
const TELLS_NO_STATUS = "GLOB '[01].*'"

/**
 * SQL condition on a shell call. A hook refuses in its own words, so only the missing exit status tells its refusal and
 * output apart.
 *
 * @param call the table's name in the query
 */
const wasRun = (call: string): string => {
  const version = `(SELECT version FROM sessions WHERE id = ${call}.session)`
  const refusals = NOT_RUN.map((beginning) => `${call}.error NOT LIKE '${beginning.replaceAll("'", "''")}%'`)
  return `(${call}.is_error IS NOT 1 OR ${call}.exit_code IS NOT NULL
    OR (coalesce(${version}, '0.') ${TELLS_NO_STATUS} AND ${refusals.join(" AND ")}))`
}

/** That of a script which succeeded says nothing of a call that failed nevertheless (tool-rows.ts). */
const EXIT_CODE = "nullif(exit_code, 0)"

/** A call and the messages that hold it. */
export interface CallPlace {
  /** tool_use_id. */
  readonly id: string
  /** Id of the message that holds the input. */
  readonly use: number | null
  /** Id of the message that holds the output. */
  readonly result: number | null
}

/** A call as the views have it. */
export interface ShortCall extends CallPlace {
  readonly target: string
  /** Bytes of the line that holds the input. */
  readonly length: number | null
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Command, path or pattern, on one line. */
  readonly target: string
  /** null while unanswered. */
  readonly isError: boolean | null
  readonly exitCode: number | null
}

/** A turn's calls, in their order. */
export function toolCallsOf(db: Database, turn: number): ToolCall[] {
  return db
    .query<Omit<ToolCall, "isError"> & { isError: number | null }, [number]>(
      `SELECT id, name, target, is_error AS isError, ${EXIT_CODE} AS exitCode FROM tool_calls
       WHERE turn = ? ORDER BY coalesce(use, result), id`,
    )
    .all(turn)
    .map((row) => ({ ...row, isError: row.isError === null ? null : row.isError === 1 }))
}

/** The last shell commands of a session's turn, on one line each, latest first. */
export const commandsIn = (db: Database, session: string, seq: number, most: number): string[] =>
  db
    .query<{ target: string }, [string, number, number]>(
      `SELECT c.target FROM tool_calls c JOIN turns t ON t.id = c.turn
       WHERE t.session = ? AND t.seq = ? AND ${IS_SHELL} AND c.target <> '' ORDER BY coalesce(c.use, c.result) DESC LIMIT ?`,
    )
    .all(session, seq, most)
    .map(({ target }) => target)

/** The last shell command of a turn. */
export const lastCommand = (db: Database, turn: number): ShortCall | null =>
  db
    .query<ShortCall, [number]>(
      `SELECT c.id, c.use, c.result, c.target, m.length FROM tool_calls c LEFT JOIN messages m ON m.id = c.use
       WHERE c.turn = ? AND ${IS_SHELL} AND c.target <> '' ORDER BY coalesce(c.use, c.result) DESC LIMIT 1`,
    )
    .get(turn)

export interface ShellRun extends ShortCall {
  readonly isError: number | null
  readonly exitCode: number | null
  readonly error: string | null
  readonly time: string | null
  /** With `ctx:`. */
  readonly handle: string
  readonly takenBack: number
}

const IS_SHELL = isTool("c.name", ...SHELL_KINDS)

/** All runs of the commands in these messages, in the order of the archive. */
export function runsOfCommands(db: Database, messages: readonly number[], whose: Whose): ShellRun[] {
  const there = isWhose(whose)
  return db
    .query<ShellRun, string[]>(
      `SELECT c.target, c.is_error AS isError, ${EXIT_CODE} AS exitCode,
         iif(c.is_error = 1, c.error, NULL) AS error, m.time, m.length,
         ? || t.handle AS handle, t.taken_back AS takenBack, c.id, c.use, c.result
       FROM tool_calls c JOIN messages m ON m.id = c.use JOIN turns t ON t.id = c.turn
       LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project
       WHERE ${IS_SHELL} AND ${wasRun("c")} AND ${there.sql} AND c.target IN (
         SELECT f.target FROM json_each(?) w JOIN messages x ON x.id = w.value
         JOIN tool_calls f ON f.turn = x.turn AND f.use = x.id)
       ORDER BY c.use`,
    )
    .all(HANDLE_PREFIX, ...there.values, JSON.stringify(messages))
}

export interface CallInTurn extends ShortCall {
  readonly turn: number
  /** Without its prefix. */
  readonly handle: string
  readonly session: string
  readonly name: string
  readonly error: string | null
  readonly isError: number | null
  readonly time: string | null
  readonly answer: string
  readonly takenBack: number
}

const CALL = `
  SELECT c.id, c.turn, t.handle, c.session, c.name, c.target, c.error, c.is_error AS isError, c.use, c.result, m.length,
    t.started AS time, t.answer, t.taken_back AS takenBack
  FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN messages m ON m.id = c.use`

/** The call whose failure a message reports, or which names an error although it succeeded. */
export const failedCall = (db: Database, message: number): CallInTurn | null =>
  db
    .query<CallInTurn, [number, number]>(
      `${CALL} WHERE c.turn = (SELECT turn FROM messages WHERE id = ?) AND c.result = ? AND c.error IS NOT NULL`,
    )
    .get(message, message)

/** The call that a message answers, whether or not it failed. */
export const answeredCall = (db: Database, message: number): CallInTurn | null =>
  db
    .query<CallInTurn, [number, number]>(
      `${CALL} WHERE c.turn = (SELECT turn FROM messages WHERE id = ?) AND c.result = ? ORDER BY c.use LIMIT 1`,
    )
    .get(message, message)

/** The session's next calls after one, or after a message of which `use` is the id. */
export const callsAfter = (
  db: Database,
  call: Pick<CallInTurn, "turn" | "session" | "use">,
  most: number,
): CallInTurn[] =>
  db
    .query<CallInTurn, [number, string, number, number]>(
      `${CALL} WHERE c.turn >= ? AND c.session = ? AND c.use > ? ORDER BY c.turn, c.use LIMIT ?`,
    )
    .all(call.turn, call.session, call.use ?? 0, most)

/** A command, an edit or a write, and how it ended. */
interface Action {
  readonly session: string
  /** Folder of the session. */
  readonly cwd: string | null
  readonly name: string
  readonly target: string
  readonly isError: number | null
  readonly exitCode: number | null
  readonly error: string | null
  readonly time: string | null
  /** With `ctx:`. */
  readonly handle: string
  /** Offset of the call in the session's transcript. */
  readonly offset: number
  /** 0: it was refused. */
  readonly wasRun: 0 | 1
}

/** The latest commands, edits and writes of a project's sessions, oldest first, without those of turns that were taken back. */
export const actionsIn = (db: Database, project: string, most: number): Action[] =>
  db
    .query<Action, [string, string]>(
      `SELECT c.session, s.cwd, c.name, c.target, c.is_error AS isError, ${EXIT_CODE} AS exitCode, c.error, m.time,
         ?1 || t.handle AS handle, m.offset, ${wasRun("c")} AS wasRun
       FROM tool_calls c JOIN messages m ON m.id = c.use JOIN turns t ON t.id = c.turn
       JOIN sessions s ON s.id = t.session JOIN projects p ON p.id = s.project
       WHERE p.path = ?2 AND ${isTool("c.name", ...SHELL_KINDS, "edit", "write")} AND ${isAtHome("c.origin")} AND c.target <> ''
         AND t.taken_back = 0
       ORDER BY m.time DESC, c.use DESC LIMIT ${most}`,
    )
    .all(HANDLE_PREFIX, project)
    .reverse()

export interface LastRun {
  readonly session: string
  readonly command: string
  readonly exitCode: number | null
  readonly error: string | null
  /** Without its prefix. */
  readonly handle: string
  /** Id of the message that holds the result. */
  readonly result: number
}

/** Names of all tools that were called, the most used first. */
export const toolsCalled = (db: Database): string[] =>
  db
    .query<{ name: string }, []>(
      "SELECT name FROM tool_calls WHERE name <> '' GROUP BY name ORDER BY count(*) DESC",
    )
    .all()
    .map(({ name }) => name)

/**
 * The last command that succeeded (0) or failed (1).
 *
 * @param behind only if a message behind this one holds its result
 */
export const lastRun = (db: Database, scope: Scope, isError: 0 | 1, behind = 0): LastRun | undefined =>
  rowsIn<LastRun>(
    db,
    scope,
    `SELECT c.session, c.target AS command, ${EXIT_CODE} AS exitCode, c.error, t.handle, c.result
     FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.session = ?1 AND c.turn <= ?2 AND ${isTool("c.name", "run")} AND c.is_error = ${isError}
       AND ${isAtHome("c.origin")} AND ${wasRun("c")} AND ${STANDS}
     ORDER BY c.result DESC LIMIT 1`,
  )
    .filter(({ result }) => result > behind)
    .sort((a, b) => b.result - a.result)[0]

/** Scripts with these words in them that succeeded after a message, latest first in each part of the scope. */
export function successesSince(
  db: Database,
  scope: Scope,
  { words, message, most }: { readonly words: string; readonly message: number; readonly most: number },
): string[] {
  const query = db.query<{ target: string }, [string, string, number, number]>(
    `SELECT c.target FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.session = ?1 AND ${isTool("c.name", "run")} AND c.is_error = 0 AND c.result > ?4 AND instr(c.target, ?2) > 0
       AND ${STANDS}
     ORDER BY c.result DESC LIMIT ${most}`,
  )
  return scope.flatMap(({ session, takenBack }) =>
    query.all(session, words, takenBack, message).map(({ target }) => target),
  )
}

interface ScriptRun extends CallPlace {
  readonly script: string
  readonly isError: number
  readonly exitCode: number | null
  readonly result: number
  /** Bytes of the lines that hold the input and the output. */
  readonly length: number | null
  readonly resultLength: number
}

/** The latest runs of each outcome, latest first. */
export function latestRuns(db: Database, scope: Scope, most: number): ScriptRun[] {
  const query = db.query<ScriptRun, [string, number, number, number]>(
    `SELECT c.id, c.use, c.target AS script, c.is_error AS isError, ${EXIT_CODE} AS exitCode, c.result,
       (SELECT length FROM messages WHERE id = c.use) AS length,
       coalesce((SELECT length FROM messages WHERE id = c.result), 0) AS resultLength
     FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.session = ?1 AND c.turn <= ?2 AND ${isTool("c.name", "run")} AND c.is_error = ?3 AND ${isAtHome("c.origin")}
       AND ${wasRun("c")} AND (t.taken_back = 0 OR ?4)
     ORDER BY c.result DESC LIMIT ${most}`,
  )
  return scope
    .flatMap(({ session, upTo, takenBack }) =>
      [0, 1].flatMap((isError) => query.all(session, upTo, isError, takenBack)),
    )
    .sort((a, b) => b.result - a.result)
}

/** Among a session's latest successful scripts, those that may have moved or deleted files, latest first. */
export const movingScripts = (
  db: Database,
  { session, upTo, takenBack }: Scope[number],
  most: number,
): { readonly target: string /** Id of the message. */; readonly at: number }[] =>
  db
    .query<{ target: string; at: number }, [string, number, number]>(
      `SELECT target, at FROM (
       SELECT c.target, c.use AS at FROM tool_calls c JOIN turns t ON t.id = c.turn
       WHERE c.session = ?1 AND c.turn <= ?2 AND ${isTool("c.name", "run")} AND c.is_error = 0 AND ${isAtHome("c.origin")}
         AND (t.taken_back = 0 OR ?3)
       ORDER BY c.result DESC LIMIT ${most})
     WHERE instr(target, 'mv ') > 0 OR instr(target, 'rm ') > 0`,
    )
    .all(session, upTo, takenBack)

export interface ChangedFile {
  readonly path: string
  readonly name: string
  /** tool_use_id of the last call. */
  readonly call: string
  /** Whether a subagent made it. */
  readonly bySubagent: 0 | 1
  /** Without its prefix. */
  readonly handle: string
  /** Id of the message with the last call. */
  readonly latest: number
}

/** Files that a turn changed, by the last call to each, newest first. */
export const filesChangedIn = (db: Database, turn: number, most: number): ChangedFile[] =>
  db
    .query<ChangedFile, [number]>(
      // With max(), SQLite takes the other columns from the row that has the maximum.
      `SELECT c.target AS path, c.name, c.id AS call, c.sidechain OR instr(c.session, '/') > 0 AS bySubagent, t.handle, max(c.use) AS latest FROM tool_calls c JOIN turns t ON t.id = c.turn
     WHERE c.turn = ?1 AND ${isTool("c.name", "edit", "write")} AND c.is_error IS NOT 1
       AND ${isAtHome("c.origin")}
     GROUP BY c.target ORDER BY latest DESC LIMIT ${most}`,
    )
    .all(turn)

/** A subagent that was started for a task. */
export interface SubagentTask {
  /** In the model's words, on one line. */
  readonly task: string
  /** Without its prefix. */
  readonly handle: string
  /** Whether its call may still get its result: it has none, and its turn is the session's last and was not interrupted. */
  readonly isOpen: 0 | 1
}

/**
 * Those that the session itself started in these turns, latest first.
 *
 * @param behind whether one that was started in this message or before has a result is not known
 */
export const subagentsStarted = (
  db: Database,
  turns: readonly number[],
  most: number,
  behind = 0,
): SubagentTask[] =>
  db
    .query<SubagentTask, [string, number]>(
      `SELECT c.target AS task, t.handle, c.result IS NULL AND c.use > ?2 AND t.interrupted = 0
         AND t.id = (SELECT max(value) FROM json_each(?1)) AS isOpen FROM tool_calls c JOIN turns t ON t.id = c.turn
       WHERE c.turn IN (SELECT value FROM json_each(?1)) AND ${isTool("c.name", "agent")} AND c.target <> ''
         AND c.sidechain = 0 AND instr(c.session, '/') = 0 AND ${isAtHome("c.origin")}
       ORDER BY coalesce(c.use, c.result) DESC LIMIT ${most}`,
    )
    .all(JSON.stringify(turns), behind)

/** Files that a turn itself read or changed, newest first. */
export const filesOpenedIn = (db: Database, turn: number, most: number): string[] =>
  db
    .query<{ path: string }, [number]>(
      `SELECT target AS path, max(use) AS latest FROM tool_calls
     WHERE turn = ?1 AND ${isTool("name", "read", "edit", "write")} AND sidechain = 0
       AND is_error = 0 AND ${isAtHome("origin")}
     GROUP BY target ORDER BY latest DESC LIMIT ${most}`,
    )
    .all(turn)
    .map(({ path }) => path)

/** A message with what a file or a search showed. */
interface ShownPlace extends LinePlace {
  readonly message: number
}

/**
 * What a turn itself read of files and found by searching them, latest first; of so many results those in lines of less
 * than `longest` bytes.
 */
export const shownIn = (db: Database, turn: number, longest: number, most: number): ShownPlace[] =>
  db
    .query<ShownPlace, [number, number, number]>(
      `SELECT m.id AS message, m.offset, m.length, t.copy
     FROM (SELECT result FROM tool_calls
       WHERE turn = ?1 AND ${isTool("name", "read", "search", "edit")} AND sidechain = 0 AND is_error = 0 AND origin = 'tool'
       ORDER BY result DESC LIMIT ?3) c
     JOIN messages m ON m.id = c.result JOIN transcripts t ON t.id = m.transcript
     WHERE m.length < ?2 ORDER BY m.id DESC`,
    )
    .all(turn, longest, most)

/** A skill or command and the message that its text follows. */
export interface Invocation {
  /** Name and arguments as given. */
  readonly target: string
  readonly turn: number
  readonly after: number
}

/** Skills that the model invoked, latest first. */
export const skillCalls = (db: Database, session: string, since: number, most: number): Invocation[] =>
  db
    .query<Invocation, [string, number]>(
      `SELECT c.target, c.turn, c.result AS after FROM tool_calls c JOIN messages m ON m.id = c.result
       WHERE c.session = ? AND ${isTool("c.name", "skill")} AND c.is_error = 0 AND c.sidechain = 0 AND ${isAtHome("c.origin")}
         AND m.offset >= ? ORDER BY c.result DESC LIMIT ${most}`,
    )
    .all(session, since)

/** Commands that the user typed and that did something, latest first. */
export const typedCommands = (db: Database, session: string, since: number, most: number): Invocation[] =>
  db
    .query<Invocation, [string, number]>(
      `SELECT prompt AS target, id AS turn, (SELECT min(m.id) FROM messages m WHERE m.turn = turns.id) AS after FROM turns
       WHERE session = ? AND via = 'command' AND (tools > 0 OR answer <> '') AND ${isAtHome("origin")} AND first >= ?
       ORDER BY id DESC LIMIT ${most}`,
    )
    .all(session, since)

/** Sessions that have called our tools or commands. */
export const sessionsThatAsked = (db: Database): string[] =>
  db
    .query<{ session: string }, []>(
      `SELECT DISTINCT session FROM tool_calls
       WHERE name LIKE 'mcp\\_\\_%ctxbridge\\_\\_%' ESCAPE '\\' OR ${isTool("name", "run")} AND target LIKE '%ctxbridge%'`,
    )
    .all()
    .map(({ session }) => session)

/** Calls of our server's `remember`, with the lines that sum them up. */
export const rememberCalls = (db: Database): { session: string; target: string }[] =>
  db
    .query<{ session: string; target: string }, []>(
      `SELECT session, target FROM tool_calls
       WHERE name GLOB 'mcp__*ctxbridge__remember' AND is_error IS NOT 1 AND ${isAtHome("origin")}`,
    )
    .all()
