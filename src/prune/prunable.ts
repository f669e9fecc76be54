/**
 * What of one message of the Messages API can be pruned, and what stands there afterwards. A block whose shape is not
 * known, or whose author is in doubt, can not. Pure.
 */
import { userTextParts } from "../claude/user-text.ts"
import { isObject, type JsonObject } from "../transcript/json.ts"
import { cut } from "../util/text.ts"

/** The end of every text that was shortened or replaced. */
const PRUNED_MARK = "[earlier context pruned]"

/**
 * The handle, with its `ctx:`, by which the vault's copy of a block is found; undefined: the vault lacks it. A content
 * that is a string is asked for as a text block. The answer for a block must stay the same as long as the conversation
 * lasts, or what was pruned before comes back.
 */
export type HandleOf = (block: JsonObject, role: "user" | "assistant") => string | undefined

export interface PrunableOptions {
  /** How much of a text remains before the mark, in UTF-16 units. */
  readonly maxChars: number
  /** Whether what tools returned is replaced by its handle. */
  readonly results: boolean
}

type PrunedKind = "text" | "result" | "thinking"

export interface Pruning {
  readonly kind: PrunedKind
  /** Index of the block in its message's content; 0 if that is a string. */
  readonly block: number
  readonly handle: string
  /** UTF-16 units of JSON less, or a few more. More than 0. */
  readonly saved: number
  /** What replaces the block; undefined: it is removed. */
  readonly instead: JsonObject | undefined
}

export interface Prunable {
  readonly role: "user" | "assistant" | undefined
  /** Whether a human says something, to which the assistant will reply. */
  readonly isPrompt: boolean
  readonly prunings: readonly Pruning[]
  /** Whether it has thinking that must stay. Nothing before that may be pruned: its signature covers all of it. */
  readonly isBound: boolean
}

export function prunable(message: unknown, options: PrunableOptions, handleOf: HandleOf): Prunable {
  const prunings: Pruning[] = []
  let isBound = false
  const role = isObject(message) ? message["role"] : undefined
  if (!isObject(message) || (role !== "user" && role !== "assistant")) {
    return { role: undefined, isPrompt: false, prunings, isBound }
  }
  const blocks = blocksIn(message["content"])
  const speakers = blocks.map((block) => (role === "assistant" ? "assistant" : speakerIn(block)))
  // Beside what a tool returned, or a command, a text may be a skill that the model loaded.
  const hasResult = role === "user" && blocks.some(isAnyResult)
  const isDoubtful = hasResult || speakers.includes("command")
  for (const [n, block] of blocks.entries()) {
    const isTheirs = speakers[n] === "assistant" || (speakers[n] === "human" && !isDoubtful)
    const kind = kindOf(block, role, isTheirs, options)
    if (kind === undefined || !isObject(block)) continue
    const handle = handleOf(block, role)
    if (handle === undefined) isBound ||= kind === "thinking"
    else {
      const instead = insteadOf(block, handle, options.maxChars)
      const saved = unitsOf(block) - (instead ? unitsOf(instead) : 0) - NEWLINE
      if (saved > 0) prunings.push({ kind, block: n, handle, saved, instead })
    }
  }
  const isPrompt = role === "user" && !hasResult && speakers.some((who) => who !== undefined)
  return { role, isPrompt, prunings, isBound }
}

/** A string is one block of text. */
export function blocksIn(content: unknown): readonly unknown[] {
  if (typeof content === "string") return [{ type: "text", text: content }]
  return Array.isArray(content) ? content : []
}

function kindOf(
  block: unknown,
  role: "user" | "assistant",
  isTheirs: boolean,
  { maxChars, results }: PrunableOptions,
): PrunedKind | undefined {
  if (!isObject(block)) return undefined
  const { type, text } = block
  if (role === "assistant" && (type === "thinking" || type === "redacted_thinking")) return "thinking"
  if (role === "user" && type === "tool_result") return results ? "result" : undefined
  const isLong = typeof text === "string" && text.length > maxChars + PRUNED_MARK.length
  return isLong && isTheirs && isPlainText(block) ? "text" : undefined
}

function insteadOf(block: JsonObject, handle: string, maxChars: number): JsonObject | undefined {
  const note = `${handle} ${PRUNED_MARK}`
  if (isPlainText(block)) return { ...block, text: shortened(block.text, maxChars, note) }
  const { type, content } = block
  if (type !== "tool_result") return undefined
  if (!Array.isArray(content)) return typeof content === "string" ? { ...block, content: note } : block
  return { ...block, content: content.map((item) => (isPlainText(item) ? { ...item, text: note } : item)) }
}

/** What a newline in a note is longer in JSON. */
const NEWLINE = 1

/** The texts of a block, in UTF-16 units. As JSON they are longer by the escapes, in what is pruned and what remains. */
function unitsOf(block: JsonObject): number {
  let units = 0
  for (const value of Object.values(block)) {
    if (typeof value === "string") units += value.length
    else if (Array.isArray(value)) for (const item of value) if (isObject(item)) units += unitsOf(item)
  }
  return units
}

/** The beginning of the first line that is not blank, and the note. */
function shortened(text: string, maxChars: number, note: string): string {
  const [line = ""] = text
    .trimStart()
    .slice(0, maxChars + 1)
    .split("\n", 1)
  return `${cut(line, maxChars, "").trimEnd()}\n${note}`
}

type TextBlock = JsonObject & { readonly text: string }

const TEXT_FIELDS = new Set(["type", "text", "cache_control"])

/** Text, of which nothing else speaks, as a citation would. */
const isPlainText = (block: unknown): block is TextBlock =>
  isObject(block) &&
  block["type"] === "text" &&
  typeof block["text"] === "string" &&
  Object.entries(block).every(([name, value]) => TEXT_FIELDS.has(name) || value === null)

/** Includes those of tools that run at the API. */
const isAnyResult = (block: unknown): boolean =>
  isObject(block) && typeof block["type"] === "string" && block["type"].endsWith("tool_result")

/** Whose words a user's text is; undefined: nobody's, but a summary, a reminder or a report. */
function speakerIn(block: unknown): "human" | "command" | "mixed" | undefined {
  if (!isObject(block) || block["type"] !== "text" || typeof block["text"] !== "string") return undefined
  const parts = userTextParts(block["text"], "human")
  const prompt = parts.find((part) => part.kind === "prompt")
  if (prompt === undefined || prompt.via === "command") return prompt && "command"
  const isAllTyped = parts.every(
    (part) =>
      (part.kind === "prompt" && part.via === "typed") ||
      (part.kind === "context" && part.source === "pasted_content"),
  )
  return isAllTyped ? "human" : "mixed"
}
