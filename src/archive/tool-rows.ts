/** Tool calls, the files they touch and the tasks they change → rows of the views. */
import {
  createdTaskId,
  exitCode,
  shellCommand,
  taskChange,
  todosOf,
  toolFiles,
  toolTarget,
} from "../agents/claude-code/tool-input.ts"
import { toolOrigin } from "../agents/origin.ts"
import { commandPaths } from "../transcript/path-words.ts"
import { showsText } from "../transcript/showing-commands.ts"
import type { Part } from "../transcript/types.ts"
import { cut } from "../util/text.ts"
import type { Database } from "./database.ts"
import { applyTask, numberTask, parseTodos, type Todo } from "./todos.ts"
import { toolNameOf } from "./tool-name.ts"

/** Most characters of an error kept with its call. The whole text is in the vault. */
const ERROR_KEPT = 600

/** Where a part belongs. */
export interface At {
  readonly turn: number
  readonly message: number
  readonly sidechain: boolean
  /** Whether it belongs to the session's own chain rather than to a subagent's within it. */
  readonly main: boolean
  /** Whether it comes from another tool's archive. */
  readonly imported: boolean
  /** The host's version. */
  readonly version: string | undefined
}

export class ToolRows {
  readonly #db: Database
  readonly #session: string
  /** Names of the tools called in this transcript, by call: most results follow soon. */
  readonly #names = new Map<string, string>()
  /** Those of them whose commands show text that others wrote. */
  readonly #showing = new Set<string>()

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
  }

  /** Name of a call's tool; undefined if the call is unknown. */
  nameOf(id: string): string | undefined {
    const called = this.#names.get(id)
    if (called !== undefined) return called
    return toolNameOf(this.#db, this.#session, id)
  }

  /** Whether a call's command shows text that others wrote; by its beginning if it was read some time ago. */
  showsText(id: string): boolean {
    if (this.#names.has(id)) return this.#showing.has(id)
    const call = this.#db
      .query<{ target: string }, [string, string]>(
        "SELECT target FROM tool_calls WHERE session = ? AND id = ?",
      )
      .get(this.#session, id)
    return showsText(call?.target ?? "")
  }

  use(part: Extract<Part, { kind: "toolUse" }>, { turn, message, sidechain, main, imported }: At): void {
    const target = toolTarget(part.name, part.input)
    if (part.name !== "") this.#names.set(part.id, part.name)
    this.#db
      .query(
        `INSERT INTO tool_calls (session, id, turn, name, target, use, sidechain, origin)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET name = excluded.name, target = excluded.target, use = excluded.use,
           origin = excluded.origin`,
      )
      .run(
        this.#session,
        part.id,
        turn,
        part.name,
        target,
        message,
        sidechain ? 1 : 0,
        imported ? "import" : toolOrigin(part.name),
      )
    for (const { path, op } of toolFiles(part.name, part.input)) this.#file(turn, path, op)
    const script = shellCommand(part.name, part.input)
    if (script !== undefined) {
      for (const path of commandPaths(script)) this.#file(turn, path, "command")
      if (showsText(script)) this.#showing.add(part.id)
    }
    if (main && !imported) this.tasks(part)
  }

  /** Applies a call or its result to the task list. Of lines copied by a fork, only this applies to the fork, too. */
  tasks(part: Part): void {
    if (part.kind === "toolResult") {
      const task = createdTaskId(part.text)
      if (task !== undefined) this.#setTodos(JSON.stringify(numberTask(this.#todos(), part.id, task)))
    } else if (part.kind === "toolUse") {
      const todos = todosOf(part.name, part.input)
      if (todos !== undefined) this.#setTodos(JSON.stringify(todos))
      const change = taskChange(part.name, part.input)
      if (change !== undefined) this.#setTodos(JSON.stringify(applyTask(this.#todos(), part.id, change)))
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

  #file(turn: number, path: string, op: string): void {
    this.#db
      .query(
        "INSERT INTO files (session, turn, path, op) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + 1",
      )
      .run(this.#session, turn, path, op)
  }

  /** A refused or failed call has changed no file. Called before the call's row is marked as failed. */
  #takeBack(id: string): void {
    const call = this.#db
      .query<{ turn: number; name: string; target: string }, [string, string]>(
        "SELECT turn, name, target FROM tool_calls WHERE session = ? AND id = ? AND is_error IS NOT 1",
      )
      .get(this.#session, id)
    if (call === null) return
    const [file] = toolFiles(call.name, { file_path: call.target })
    if (file === undefined || file.op === "read") return
    // The target stored with the call may be a shortened path.
    const path = this.#db
      .query<{ path: string }, [number, string]>("SELECT path FROM files WHERE turn = ? AND op = ?")
      .all(call.turn, file.op)
      .map((row) => row.path)
      .find((one) => toolTarget(call.name, { file_path: one }) === call.target)
    if (path === undefined) return
    const values = [call.turn, path, file.op] as const
    this.#db.query("UPDATE files SET count = count - 1 WHERE turn = ? AND path = ? AND op = ?").run(...values)
    this.#db.query("DELETE FROM files WHERE turn = ? AND path = ? AND op = ? AND count = 0").run(...values)
  }

  result(part: Extract<Part, { kind: "toolResult" }>, at: At): void {
    const { turn, message, sidechain, imported } = at
    if (!imported) this.tasks(part)
    if (part.isError) this.#takeBack(part.id)
    this.#db
      .query(
        `INSERT INTO tool_calls (session, id, turn, name, target, result, is_error, exit_code, error, sidechain,
           origin)
         VALUES (?, ?, ?, '', '', ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET result = excluded.result, is_error = excluded.is_error,
           exit_code = excluded.exit_code, error = excluded.error`,
      )
      .run(
        this.#session,
        part.id,
        turn,
        message,
        part.isError ? 1 : 0,
        exitCode(part.isError, part.text) ?? null,
        part.isError ? cut(part.text, ERROR_KEPT) : null,
        sidechain ? 1 : 0,
        imported ? "import" : "tool",
      )
  }
}

/**
 * Tools of our own server. Their queries and findings are already in the archive; if found again, they would rank above
 * what they had found.
 */
export const isOwnTool = (tool: string | undefined): boolean =>
  tool !== undefined && /^mcp__(?:plugin_\w+_)?ctxbridge__/.test(tool)
