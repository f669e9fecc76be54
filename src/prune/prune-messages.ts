/**
 * The one rule for what a conversation can do without, over the messages of the Messages API: the beginning of old texts
 * is enough, and old thinking goes. Pure, and without a state: where the cut stands is worked out from the first message
 * on, so a longer conversation, a resumed one and a restarted program have the same cut.
 *
 * The cut moves only at a new prompt, and only in steps. What precedes it is then byte for byte what was sent before, and
 * the API's cache holds. Thinking is signed together with all that precedes it, so whatever was thought before the cut
 * moved is removed, and what was thought afterwards remains valid.
 */

import { cut } from "../base/text.ts"
import { userTextParts } from "../claude/user-text.ts"
import { isObject, type JsonObject, objectOf } from "../record/json.ts"

export interface PruneOptions extends PrunableOptions {
  /** Latest prompts that stay whole, with all that follows them. The current one always does. */
  readonly keep: number
  /** Latest prompts after which what tools returned stays, if that is not `keep`. */
  readonly keepResults?: number
  /** Whether the cut moves only after a pause in which the API's cache has expired. Whoever prunes knows the time. */
  readonly afterPause?: boolean
  /** The cut moves when so much could be saved behind it, the latest prompts included. UTF-16 units of JSON. */
  readonly threshold: number
  /** And when moving saves at least so much. */
  readonly step: number
}

interface PrunedBlock extends Pruning {
  /** Index of the message among those given. */
  readonly message: number
}

interface PrunedMessages {
  /** The ones given, if nothing was pruned. What is not pruned is the same object. */
  readonly messages: readonly unknown[]
  readonly pruned: readonly PrunedBlock[]
}

/** Indexes of the first messages that stay whole. */
export interface Cut {
  readonly texts: number
  readonly results: number
  readonly thoughts: number
}

export const UNCUT: Cut = { texts: 0, results: 0, thoughts: 0 }

export const isFurther = (a: Cut, b: Cut): boolean => a.texts > b.texts || a.results > b.results

/** Prunes what lies before a cut, wherever it would be now. */
export function pruneAt(
  messages: readonly unknown[],
  { texts, results, thoughts }: Cut,
  options: PrunableOptions,
  handleOf: HandleOf,
): PrunedMessages {
  const kept: unknown[] = []
  const pruned: PrunedBlock[] = []
  const ends = { text: texts, result: results, thinking: thoughts }
  const end = Math.max(texts, results, thoughts)
  for (const [n, message] of messages.slice(0, end).entries()) {
    const prunings = prunable(message, options, handleOf).prunings.filter(({ kind }) => n < ends[kind])
    for (const pruning of prunings) pruned.push({ message: n, ...pruning })
    kept.push(...applied(message, prunings))
  }
  if (pruned.length === 0) return { messages, pruned }
  return { messages: [...kept, ...messages.slice(end)], pruned }
}

/** Where the cut is, worked out from the first message on. */
export function findCut(
  messages: readonly unknown[],
  { keep, keepResults = keep, threshold, step, ...options }: PruneOptions,
  handleOf: HandleOf,
): Cut {
  const prompts: number[] = []
  /** What could be saved before each message. */
  const before = { text: [0], result: [0] }
  const upTo = (texts: number, results: number): number => before.text[texts]! + before.result[results]!
  let cut = UNCUT
  let isAnswered = true
  for (const [n, message] of messages.entries()) {
    const { role, isPrompt, prunings, isBound } = prunable(message, options, handleOf)
    // Some clients send what was typed one after the other as several messages.
    if (isPrompt && isAnswered) {
      isAnswered = false
      prompts.push(n)
      const texts = prompts.at(-Math.max(1, keep)) ?? 0
      const results = options.results ? (prompts.at(-Math.max(1, keepResults)) ?? 0) : 0
      const done = upTo(cut.texts, cut.results)
      if (upTo(n, n) - done >= threshold && upTo(texts, results) - done >= Math.max(1, step))
        cut = { texts, results, thoughts: n }
    }
    if (isBound) break
    if (role === "assistant") isAnswered = true
    for (const kind of ["text", "result"] as const) {
      const saved = prunings.reduce((sum, one) => sum + (one.kind === kind ? one.saved : 0), 0)
      before[kind].push(before[kind][n]! + saved)
    }
  }
  return cut
}

/** Index of the prompt that is worked on, the first of several in a row; undefined if there is none. */
export function currentPrompt(messages: readonly unknown[]): number | undefined {
  let prompt: number | undefined
  for (let n = messages.length - 1; n >= 0; n--) {
    const { role, isPrompt } = prunable(messages[n], NOTHING, () => undefined)
    if (isPrompt) prompt = n
    if (role === "assistant" && prompt !== undefined) break
  }
  return prompt
}

const NOTHING: PrunableOptions = { maxChars: Number.POSITIVE_INFINITY, results: false }

/** A message of which nothing is left is left out. The API joins messages of the same role. */
function applied(message: unknown, prunings: readonly Pruning[]): unknown[] {
  if (prunings.length === 0 || !isObject(message)) return [message]
  const { content } = message
  const byBlock = new Map(prunings.map(({ block, instead }) => [block, instead]))
  const blocks = blocksIn(content).flatMap((block, n) => {
    const left = byBlock.has(n) ? byBlock.get(n) : block
    return left === undefined ? [] : [left]
  })
  if (blocks.length === 0) return []
  return [{ ...message, content: typeof content === "string" ? objectOf(blocks[0])["text"] : blocks }]
}

/*
 * What of one message of the Messages API can be pruned, and what stands there afterwards. A block whose shape is not
 * known, or whose author is in doubt, can not. Pure.
 */

/** The end of every text that was shortened or replaced. */
const PRUNED_MARK = "[earlier context pruned]"

/**
 * The handle, with its `ctx:`, by which the vault's copy of a block is found; undefined: the vault lacks it. A content
 * that is a string is asked for as a text block. The answer for a block must stay the same as long as the conversation
 * lasts, or what was pruned before comes back.
 */
export type HandleOf = (block: JsonObject, role: "user" | "assistant") => string | undefined

interface PrunableOptions {
  /** How much of a text remains before the mark, in UTF-16 units. */
  readonly maxChars: number
  /** Whether what tools returned is replaced by its handle. */
  readonly results: boolean
}

type PrunedKind = "text" | "result" | "thinking"

interface Pruning {
  readonly kind: PrunedKind
  /** Index of the block in its message's content; 0 if that is a string. */
  readonly block: number
  readonly handle: string
  /** UTF-16 units of JSON less, or a few more. More than 0. */
  readonly saved: number
  /** What replaces the block; undefined: it is removed. */
  readonly instead: JsonObject | undefined
}

interface Prunable {
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
