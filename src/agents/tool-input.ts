/** What the views need of a tool call's input: a line that sums it up, its files, its todos. */

import { withSlashes } from "../base/path.ts"
import type { TaskChange, TodoItem } from "../record/agent.ts"
import { type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { jsonHead, shortLine } from "../record/one-line.ts"
import { toolKind, toolNamed } from "./tool-kinds.ts"

interface ToolFile {
  readonly path: string
  readonly op: "read" | "write" | "edit"
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
  const op = toolNamed(name)?.kind
  if (op !== "read" && op !== "write" && op !== "edit") return []
  const path = knownTarget(name, objectOf(input))
  return path === undefined ? [] : [{ path, op }]
}

/** The todo list after a call that writes it; undefined for any other call. */
export const todosOf = (name: string, input: unknown): TodoItem[] | undefined =>
  toolNamed(name)?.todos?.(objectOf(input))

/** What a call changes of the list of tasks; undefined for any other call. */
export const taskChange = (name: string, input: unknown): TaskChange | undefined =>
  toolNamed(name)?.task?.(objectOf(input))

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
  const { kind, target = [] } = toolNamed(name) ?? {}
  if (typeof target === "function") return target(fields)
  const text = target.map((field) => stringOf(fields[field])).find((value) => value !== undefined)
  const isFile = kind === "read" || kind === "write" || kind === "edit"
  return text !== undefined && isFile ? withSlashes(text) : text
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
