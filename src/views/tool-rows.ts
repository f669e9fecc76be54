/**
 * Tool calls, the files they touch and the tasks they change → rows of the views.
 *
 * Most results follow their calls soon, and turns touch the same files again, so rows are collected and written once.
 */

import { errorsMet } from "../agents/errors-met.ts"
import { type Foreign, toolOrigin } from "../agents/origin.ts"
import {
  createdTaskId,
  exitCode,
  shellCommand,
  taskChanges,
  todosOf,
  toolFiles,
  toolKind,
  toolTarget,
} from "../agents/tool-kinds.ts"
import { basename, withSlashes } from "../base/path.ts"
import { cut } from "../base/text.ts"
import type { ToolFile } from "../record/agent.ts"
import { fromError } from "../record/error-lines.ts"
import { type HiddenRuns, hiddenRuns, saysFailed, showsText } from "../record/failed-runs.ts"
import { isGivenBack } from "../record/our-marks.ts"
import { commandPaths } from "../record/path-words.ts"
import type { Part } from "../record/types.ts"
import type { Database } from "./database.ts"
import { toolNameOf } from "./queries/messages.ts"
import { applyTask, numberTask, parseTodos, type Todo } from "./todos.ts"

/** Most characters of an error kept with its call. The whole text is in the vault. */
const ERROR_KEPT = 600

/** Where a part belongs. */
export interface At {
  readonly turn: number
  readonly message: number
  readonly sidechain: boolean
  /** Whether it belongs to the session's own chain rather than to a subagent's within it. */
  readonly main: boolean
  readonly foreign: Foreign | undefined
  /** Claude Code's version. */
  readonly version: string | undefined
}

/** What lines say about a call since rows were written last. */
interface Call {
  readonly turn: number
  readonly sidechain: number
  origin: string
  use: Use | undefined
  result: Result | undefined
}

interface Use {
  readonly name: string
  readonly target: string
  readonly message: number
}

interface Result {
  readonly message: number
  readonly isError: number
  /** 0: the script succeeded, but its output tells of a failure. */
  readonly exitCode: number | null
  readonly error: string | null
  /** Name of the file that has all of the output. */
  readonly output: string | null
}

/** How often a turn touches a file, since rows were written last. */
interface Touched {
  readonly turn: number
  readonly path: string
  readonly op: string
  count: number
}

/** The tools called in a session. */
interface Called {
  readonly session: string
  /** By call: most results follow soon. */
  readonly names: Map<string, string>
  /** Calls of commands that show text that others wrote. */
  readonly showing: Set<string>
  /** Calls whose exit status does not tell how what they ran ended. */
  readonly hidden: Map<string, HiddenRuns>
  /** The files that calls change. */
  readonly changed: Map<string, readonly ToolFile[]>
}

/** Of the session at hand. Outlives a transaction, because what a result means must not depend on where one ends. */
const called = new WeakMap<Database, Called>()

function calledIn(db: Database, session: string): Called {
  const known = called.get(db)
  if (known?.session === session) return known
  const made = {
    session,
    names: new Map<string, string>(),
    showing: new Set<string>(),
    hidden: new Map<string, HiddenRuns>(),
    changed: new Map<string, readonly ToolFile[]>(),
  }
  called.set(db, made)
  return made
}

export class ToolRows {
  readonly #db: Database
  readonly #session: string
  readonly #called: Called
  readonly #calls = new Map<string, Call>()
  readonly #files = new Map<string, Touched>()

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
    this.#called = calledIn(db, session)
  }

  /** Name of a call's tool; undefined if the call is unknown. */
  nameOf(id: string): string | undefined {
    const called = this.#called.names.get(id)
    if (called !== undefined) return called
    const use = this.#calls.get(id)?.use
    return use === undefined ? toolNameOf(this.#db, this.#session, id) : use.name || undefined
  }

  /** Whether a call's command shows text that others wrote; by its beginning if it was read some time ago. */
  showsText(id: string): boolean {
    if (this.#called.names.has(id)) return this.#called.showing.has(id)
    return showsText(this.#earlier(id)?.target ?? "")
  }

  /** Whether output tells of a failure that the exit status hides; by the call's beginning if it was read some time ago. */
  #saysFailed(id: string, output: string): boolean {
    if (this.#called.names.has(id)) return saysFailed(this.#called.hidden.get(id), output)
    const call = this.#earlier(id)
    return toolKind(call?.name) === "run" && saysFailed(hiddenRuns(call!.target), output)
  }

  /** A call that was read some time ago. */
  #earlier(id: string): { readonly name: string; readonly target: string } | null {
    return (
      this.#calls.get(id)?.use ??
      this.#db
        .query<{ name: string; target: string }, [string, string]>(
          "SELECT name, target FROM tool_calls WHERE session = ? AND id = ?",
        )
        .get(this.#session, id)
    )
  }

  use(part: Extract<Part, { kind: "toolUse" }>, { turn, message, sidechain, main, foreign }: At): void {
    const target = toolTarget(part.name, part.input)
    if (part.name !== "") this.#called.names.set(part.id, part.name)
    const origin = foreign ?? toolOrigin(part.name)
    const call = this.#callOf(part.id, turn, sidechain, origin)
    call.use = { name: part.name, target, message }
    call.origin = origin
    const files = toolFiles(part.name, part.input)
    for (const { path, op } of files) this.#file(turn, path, op)
    const changed = files.filter(({ op }) => op !== "read")
    if (changed.length > 0) this.#called.changed.set(part.id, changed)
    const script = shellCommand(part.name, part.input)
    if (script !== undefined) {
      for (const path of commandPaths(script)) this.#file(turn, path, "command")
      if (showsText(script)) this.#called.showing.add(part.id)
      const run = hiddenRuns(script)
      if (run !== undefined) this.#called.hidden.set(part.id, run)
    }
    if (main && foreign === undefined) this.tasks(part)
  }

  /** Applies a call or its result to the task list. Of lines copied by a fork, only this applies to the fork, too. */
  tasks(part: Part): void {
    if (part.kind === "toolResult") {
      const task = createdTaskId(part.text)
      if (task !== undefined) this.#setTodos(JSON.stringify(numberTask(this.#todos(), part.id, task)))
    } else if (part.kind === "toolUse") {
      const todos = todosOf(part.name, part.input)
      if (todos !== undefined) this.#setTodos(JSON.stringify(todos))
      for (const change of taskChanges(part.name, part.input))
        this.#setTodos(JSON.stringify(applyTask(this.#todos(), part.id, change)))
    }
  }

  #todos(): Todo[] {
    const row = this.#db
      .query<{ todos: string }, [string]>("SELECT todos FROM sessions WHERE id = ?")
      .get(this.#session)
    return parseTodos(row?.todos)
  }

  #setTodos(json: string): void {
    this.#db.query("UPDATE sessions SET todos = ? WHERE id = ?").run(json, this.#session)
  }

  #callOf(id: string, turn: number, sidechain: boolean, origin: string): Call {
    let call = this.#calls.get(id)
    if (call === undefined) {
      call = { turn, sidechain: sidechain ? 1 : 0, origin, use: undefined, result: undefined }
      this.#calls.set(id, call)
    }
    return call
  }

  #file(turn: number, path: string, op: string): void {
    const key = `${turn} ${op} ${path}`
    const touched = this.#files.get(key)
    if (touched === undefined) this.#files.set(key, { turn, path, op, count: 1 })
    else touched.count++
  }

  /** Writes what has been collected. */
  flush(): void {
    for (const [id, call] of this.#calls) this.#write(id, call)
    this.#calls.clear()
    this.#writeFiles()
  }

  #write(id: string, { turn, sidechain, origin, use, result }: Call): void {
    this.#db
      .query(
        `INSERT INTO tool_calls (session, id, turn, name, target, use, result, is_error, exit_code, error, sidechain,
           origin, output)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET ${use === undefined ? "" : CALLED}${use && result ? ", " : ""}${result === undefined ? "" : ANSWERED}`,
      )
      .run(
        this.#session,
        id,
        turn,
        use?.name ?? "",
        use?.target ?? "",
        use?.message ?? null,
        result?.message ?? null,
        result?.isError ?? null,
        result?.exitCode ?? null,
        result?.error ?? null,
        sidechain,
        origin,
        result?.output ?? null,
      )
  }

  #writeFiles(): void {
    const query = this.#db.query(
      `INSERT INTO files (session, turn, path, op, count) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    )
    for (const { turn, path, op, count } of this.#files.values())
      query.run(this.#session, turn, path, op, count)
    this.#files.clear()
  }

  /** A refused or failed call has changed no file. Called before the call's row is marked as failed. */
  #takeBack(id: string): void {
    const waiting = this.#calls.get(id)
    if (waiting !== undefined) this.#write(id, waiting)
    this.#calls.delete(id)
    const call = this.#db
      .query<{ turn: number; name: string; target: string }, [string, string]>(
        "SELECT turn, name, target FROM tool_calls WHERE session = ? AND id = ? AND is_error IS NOT 1",
      )
      .get(this.#session, id)
    if (call === null) return
    const several = this.#called.changed.get(id)
    if (several !== undefined) {
      this.#writeFiles()
      for (const { path, op } of several) this.#untouch(call.turn, path, op)
      return
    }
    const [file] = toolFiles(call.name, { file_path: call.target })
    if (file === undefined || file.op === "read") return
    this.#writeFiles()
    // The target stored with the call may be a shortened path.
    const path = this.#db
      .query<{ path: string }, [number, string]>("SELECT path FROM files WHERE turn = ? AND op = ?")
      .all(call.turn, file.op)
      .map((row) => row.path)
      .find((one) => toolTarget(call.name, { file_path: one }) === call.target)
    if (path !== undefined) this.#untouch(call.turn, path, file.op)
  }

  #untouch(...values: readonly [turn: number, path: string, op: string]): void {
    this.#db.query("UPDATE files SET count = count - 1 WHERE turn = ? AND path = ? AND op = ?").run(...values)
    this.#db.query("DELETE FROM files WHERE turn = ? AND path = ? AND op = ? AND count = 0").run(...values)
  }

  /**
   * @returns `failed` by Claude Code, or by what the output of a program says that is known to fail so; `tells` if a
   * command that succeeded names an error in its output: it is found among failures, and does not count as one
   */
  result(part: Extract<Part, { kind: "toolResult" }>, at: At): "failed" | "tells" | undefined {
    const { turn, message, sidechain, foreign, version } = at
    if (foreign === undefined) this.tasks(part)
    if (part.isError) this.#takeBack(part.id)
    const isHidden = !part.isError && this.#saysFailed(part.id, part.text)
    const isError = part.isError || isHidden
    const [told] = isError ? [] : errorsMet(this.nameOf(part.id), part, version, this.showsText(part.id))
    const call = this.#callOf(part.id, turn, sidechain, foreign ?? "tool")
    call.result = {
      message,
      isError: isError ? 1 : 0,
      exitCode: isHidden ? 0 : (exitCode(part.isError, part.text) ?? null),
      error: isError
        ? cut(isHidden ? fromError(part.text) : part.text, ERROR_KEPT)
        : told === undefined
          ? null
          : cut(fromError(part.text, told), ERROR_KEPT),
      output: part.persistedTo === undefined ? null : basename(withSlashes(part.persistedTo)),
    }
    return isError ? "failed" : told === undefined ? undefined : "tells"
  }
}

/** What a line with a call changes in its row, and what one with its result does. */
const CALLED = "name = excluded.name, target = excluded.target, use = excluded.use, origin = excluded.origin"
const ANSWERED =
  "result = excluded.result, is_error = excluded.is_error, exit_code = excluded.exit_code, error = excluded.error, output = excluded.output"

/**
 * Tools of our own server. Their queries and findings are already in the archive; if found again, they would rank above
 * what they had found.
 */
export const isOwnTool = (tool: string | undefined): boolean =>
  tool !== undefined && /^mcp__(?:plugin_\w+_)?ctxbridge__/.test(tool)

/**
 * The parts of a message that it can be found by: neither what our own tools found, nor what was given back.
 *
 * @param toolOf the tool that a part calls, or that answers with it
 */
export const findable = (parts: readonly Part[], toolOf: (part: Part) => string | undefined): Part[] =>
  parts.filter((part) => !isOwnTool(toolOf(part)) && !isGivenBack(part))
