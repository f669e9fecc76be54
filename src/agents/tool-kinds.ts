/** What tools do, by the names under which they are kept, whichever agent has them. Pure. */
import { withSlashes } from "../base/path.ts"
import type { AgentTool, ReplacedText, TaskChange, TodoItem, ToolFile, ToolKind } from "../record/agent.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { AGENTS } from "./agents.ts"

/** Names are of one agent: what two call the same, both do. */
const TOOLS: Readonly<Record<string, AgentTool>> = Object.assign({}, ...AGENTS.map(({ tools }) => tools))

/** undefined for tools of servers and unknown ones */
const toolNamed = (name: string | undefined): AgentTool | undefined =>
  name !== undefined && Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined

export const toolKind = (name: string | undefined): ToolKind | undefined => toolNamed(name)?.kind

/** Names of all tools of agents. */
export const toolsKnown = (): string[] => Object.keys(TOOLS)

/** Whether a tool runs commands, of whatever shell. */
export const isShell = (name: string | undefined): boolean =>
  SHELL_KINDS.some((kind) => kind === toolKind(name))

/** The kinds of such tools. */
export const SHELL_KINDS = ["run", "run-other"] as const satisfies readonly ToolKind[]

/** Names of the tools of these kinds. */
export const toolsOf = (...kinds: readonly ToolKind[]): string[] =>
  toolsKnown().filter((name) => kinds.includes(TOOLS[name]!.kind))

/** SQL condition that a column names a tool of these kinds. */
export function isTool(column: string, ...kinds: readonly ToolKind[]): string {
  const names = toolsOf(...kinds).map((name) => `'${name}'`)
  return names.length === 1 ? `${column} = ${names[0]}` : `${column} IN (${names.join(", ")})`
}

/* What the views need of a tool call's input: a line that sums it up, its files, its todos. */

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
  const { kind: op, files } = toolNamed(name) ?? {}
  if (files !== undefined) return files(objectOf(input))
  if (op !== "read" && op !== "write" && op !== "edit") return []
  const path = knownTarget(name, objectOf(input))
  return path === undefined ? [] : [{ path, op }]
}

/** The todo list after a call that writes it; undefined for any other call. */
export const todosOf = (name: string, input: unknown): TodoItem[] | undefined =>
  toolNamed(name)?.todos?.(objectOf(input))

/** What a call changes of the list of tasks. */
export const taskChanges = (name: string, input: unknown): readonly TaskChange[] =>
  [toolNamed(name)?.task?.(objectOf(input)) ?? []].flat()

/** The id in the result of a TaskCreate call. */
export function createdTaskId(resultText: string): string | undefined {
  return /^Task #(\S{1,64}) created/.exec(resultText.slice(0, 100))?.[1]
}

/** Exit code of a failed shell command. Claude Code does not tell that of a successful one. */
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

/* Shortens values to one line. */

/** `text` as one line of at most `length` code points. */
function shortLine(text: string, length: number): string {
  // Folds white space only in a limited part, since a command may carry a whole file.
  const folded = cut(text, length * 4)
    .replace(/\s+/g, " ")
    .trim()
  return cut(folded, length).trimEnd()
}

/** The first `length` code points. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text
  let end = 0
  for (let points = 0; points < length && end < text.length; points++)
    end += text.codePointAt(end)! > 0xffff ? 2 : 1
  return text.slice(0, end)
}

/** The beginning of the JSON of `value`, at least `length` characters of it: the whole may be megabytes long. */
function jsonHead(value: unknown, length: number): string {
  let out = ""
  const write = (node: unknown, depth: number): void => {
    if (out.length > length) return
    if (typeof node === "string") out += JSON.stringify(cut(node, length))
    else if (typeof node !== "object" || node === null) out += JSON.stringify(node) ?? ""
    else if (depth > 6) out += "…"
    else if (Array.isArray(node)) {
      out += "["
      for (let i = 0; i < node.length && out.length <= length; i++) {
        if (i > 0) out += ","
        write(node[i], depth + 1)
      }
      out += "]"
    } else {
      out += "{"
      let first = true
      for (const key in node) {
        if (out.length > length) break
        out += `${first ? "" : ","}${JSON.stringify(cut(key, length))}:`
        first = false
        write((node as Readonly<Record<string, unknown>>)[key], depth + 1)
      }
      out += "}"
    }
  }
  write(value, 0)
  return out
}

/* What a call that wrote or edited a file did to it, as far as one line tells. Pure. */

/** Lines written, or one line as it was added or removed. */
export type FileChange =
  | { readonly written: number }
  | { readonly added: string }
  | { readonly removed: string }

/** Lines that say nothing of a change: marks of a conflict, words that only belong to a block. */
const NOTHING = /^(?:[<=>]{7}|(?:else|try|end|return)\b[^\p{L}]*$)/u
/** Lines that say little: comments, quotes, what is imported. */
const LITTLE =
  /^(?:\/\/|\/\*|\*|<!--|["'`]{3}|["'][\w./@-]+["'][,;]?$|(?:import|from|use|using|package|#include)\b)/
const SAYS_SOMETHING = /\p{L}{2}/u

export function fileChange(tool: string, input: unknown): FileChange | undefined {
  for (const { before, after } of replacedTexts(tool, input)?.toReversed() ?? []) {
    const change = before === undefined ? { written: linesOf(after).length } : edited(before, after)
    if (change !== undefined) return change
  }
  return undefined
}

/** @returns undefined if the tool neither edits nor writes files, or its input does not tell what it changed */
export function replacedTexts(tool: string, input: unknown): ReplacedText[] | undefined {
  const { kind, replaced } = toolNamed(tool) ?? {}
  const fields = objectOf(input)
  if (replaced !== undefined) return replaced(fields)
  if (kind === "write") {
    const content = stringOf(fields["content"])
    return content === undefined ? undefined : [{ before: undefined, after: content }]
  }
  if (kind !== "edit") return undefined
  const edits = Array.isArray(fields["edits"]) ? fields["edits"].filter(isObject) : [fields]
  const texts = edits.flatMap((edit) => {
    const before = stringOf(edit["old_string"])
    const after = stringOf(edit["new_string"] ?? edit["new_source"])
    return before === undefined && after === undefined ? [] : { before: before ?? "", after: after ?? "" }
  })
  return texts.length > 0 ? texts : undefined
}

/**
 * The same as lines, each with its sign: those that are gone, then those that are there now. Which line took the place
 * of which is not told, nor how far they are indented.
 */
export function changedLines({ before = "", after }: ReplacedText): string[] {
  const [old, now] = [before.split("\n"), after.split("\n")]
  const [were, are] = [new Set(old), new Set(now)]
  return [
    ...old.flatMap((line) => (are.has(line) ? [] : `- ${line.trim()}`)),
    ...now.map((line) => `${were.has(line) ? " " : "+"} ${line.trim()}`),
  ]
}

function edited(before: string, after: string): FileChange | undefined {
  const [old, now] = [linesOf(before), linesOf(after)]
  const added = telling(now.filter((line) => !old.includes(line)))
  if (added !== undefined) return { added }
  const removed = telling(old.filter((line) => !now.includes(line)))
  return removed === undefined ? undefined : { removed }
}

function telling(lines: readonly string[]): string | undefined {
  const some = lines.filter((line) => SAYS_SOMETHING.test(line) && !NOTHING.test(line))
  return some.find((line) => !LITTLE.test(line)) ?? some[0]
}

/** Without white space at the edges, and without a last line that is empty. */
const linesOf = (text: string): string[] =>
  text === ""
    ? []
    : text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => line.trim())
