/** What the views need of a tool call's input: a line that sums it up, its files, its todos. */
import { isObject, type JsonObject, objectOf, stringOf } from "../../transcript/json.ts"
import { jsonHead, shortLine } from "../../transcript/one-line.ts"
import { withSlashes } from "../../util/windows-path.ts"
import { toolKind } from "../tool-kinds.ts"
import { CLAUDE_CODE_TOOLS, FILE_FIELDS } from "./tool-table.ts"

interface ToolFile {
  readonly path: string
  readonly op: "read" | "write" | "edit"
}

export interface TodoItem {
  readonly content: string
  readonly status: string
}

/** A change of the task list. The id of a new task is in the result (see `createdTaskId`). */
export interface TaskChange {
  readonly id?: string
  readonly subject?: string
  readonly status?: string
}

const TARGET_LENGTH = 300

/** The essence of a tool call in one line of at most 300 code points. */
export function toolTarget(name: string, input: unknown): string {
  const fields = objectOf(input)
  return shortLine(knownTarget(name, fields) ?? jsonHead(input, TARGET_LENGTH * 2), TARGET_LENGTH)
}

/**
 * Whether `toolTarget` may have left something out: its line is as long as it may be, or the record has more bytes than
 * are read for it.
 */
export const mayBeCut = (target: string, recordBytes: number): boolean =>
  target.length >= TARGET_LENGTH - 1 || recordBytes > TARGET_LENGTH * 4

/** The same as written, with its line breaks and in full; undefined where only `toolTarget` has a summary. */
export const wholeTarget = (name: string, input: unknown): string | undefined =>
  knownTarget(name, objectOf(input))?.trim()

/** Files named in a tool call's own fields (for paths in shell commands, see `commandPaths`). */
export function toolFiles(name: string, input: unknown): ToolFile[] {
  const op = fileOp(name)
  const path = op === undefined ? undefined : filePath(objectOf(input))
  return op === undefined || path === undefined ? [] : [{ path, op }]
}

/** What a tool does with the file that its input names. */
function fileOp(name: string): ToolFile["op"] | undefined {
  const kind = toolKind(name)
  return kind === "read" || kind === "write" || kind === "edit" ? kind : undefined
}

/** The todo list after a TodoWrite call; undefined for any other call. */
export function todosOf(name: string, input: unknown): TodoItem[] | undefined {
  const todos = objectOf(input)["todos"]
  if (name !== "TodoWrite" || !Array.isArray(todos)) return undefined
  return todos.flatMap((todo: unknown) => {
    const content = isObject(todo) ? stringOf(todo["content"]) : stringOf(todo)
    return content === undefined ? [] : [{ content, status: stringOf(objectOf(todo)["status"]) ?? "pending" }]
  })
}

/** What a TaskCreate or TaskUpdate call changes; undefined for any other call. */
export function taskChange(name: string, input: unknown): TaskChange | undefined {
  const fields = objectOf(input)
  const subject = stringOf(fields["subject"])
  if (name === "TaskCreate") return { ...(subject && { subject }), status: "pending" }
  if (name !== "TaskUpdate") return undefined
  const taskId = fields["taskId"]
  const id = typeof taskId === "number" ? String(taskId) : stringOf(taskId)
  const status = stringOf(fields["status"])
  return { ...(id && { id }), ...(subject && { subject }), ...(status && { status }) }
}

/** The id in the result of a TaskCreate call. */
export function createdTaskId(resultText: string): string | undefined {
  return /^Task #(\S{1,64}) created/.exec(resultText.slice(0, 100))?.[1]
}

/** Exit code of a failed shell command. The host does not tell that of a successful one. */
export function exitCode(isError: boolean, resultText: string): number | undefined {
  if (!isError) return undefined
  const code = /^(?:Error: )?Exit code (-?\d{1,10})(?!\d)/.exec(resultText.slice(0, 40))?.[1]
  return code === undefined ? undefined : Number(code)
}

function knownTarget(name: string, fields: JsonObject): string | undefined {
  if (fileOp(name) !== undefined) return filePath(fields)
  if (name === "Grep" || name === "Glob") {
    const pattern = stringOf(fields["pattern"])
    const path = stringOf(fields["path"])
    return pattern !== undefined && path !== undefined ? `${pattern} in ${path}` : pattern
  }
  if (name === "TodoWrite") {
    const todos = fields["todos"]
    return Array.isArray(todos) ? `${todos.length} todos` : undefined
  }
  if (name === "TaskUpdate") {
    const change = taskChange(name, fields)
    return change?.id === undefined ? undefined : [`#${change.id}`, change.status].filter(Boolean).join(" ")
  }
  if (name === "Skill") {
    const skill = stringOf(fields["skill"]) ?? stringOf(fields["command"])
    return skill && [skill, stringOf(fields["args"])].filter(Boolean).join(" ")
  }
  if (name === "AskUserQuestion") {
    const questions = fields["questions"]
    return Array.isArray(questions) ? stringOf(objectOf(questions[0])["question"]) : undefined
  }
  return Object.hasOwn(CLAUDE_CODE_TOOLS, name) ? firstOf(CLAUDE_CODE_TOOLS[name]!.target, fields) : undefined
}

const firstOf = (names: readonly string[] = [], fields: JsonObject): string | undefined =>
  names.map((name) => stringOf(fields[name])).find((value) => value !== undefined)

function filePath(fields: JsonObject): string | undefined {
  const path = firstOf(FILE_FIELDS, fields)
  return path === undefined ? undefined : withSlashes(path)
}

/** Strings in a tool call's fields, including those in lists of changes. */
export function stringsIn(input: unknown, depth = 0): string[] {
  if (typeof input === "string") return [input]
  if (typeof input !== "object" || input === null || depth > 3) return []
  return Object.values(input).flatMap((value) => stringsIn(value, depth + 1))
}

/** The command of a shell call, even if empty; undefined for other tools. */
export function shellCommand(tool: string, input: unknown): string | undefined {
  const { command } = objectOf(input)
  return toolKind(tool) === "run" && typeof command === "string" ? command : undefined
}
