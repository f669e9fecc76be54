/**
 * What hooks need from new lines at every prompt, without decoding them all: the conversation's latest token counts,
 * and compactions. Searches for two words that such lines contain, and parses only these lines.
 */

import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { type LineSpan, lineAt, NEWLINE, parsedLine, wantedLines } from "../record/lines-with.ts"
import { promptTokens, tokenCount, tokensIn } from "../record/token-counts.ts"
import type { Glance, GlancedCompaction, Usage } from "../record/types.ts"

/** Inside a JSON string, the second quotation mark would be escaped. */
const USAGE = '"usage"'
const BOUNDARY = '"compact_boundary"'
/** How many lines with the usage of others (reports of subagents) are skipped at most. */
const PASSED_OVER = 500

/**
 * @param content whole lines
 * @param wantsFirst whether `firstPrompt` is needed
 */
export function glance(content: Uint8Array, wantsFirst: boolean): Glance {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const { compactions, end } = compactionsIn(bytes)
  const usage = lastUsage(bytes, end)
  return {
    compactions,
    usage,
    firstPrompt:
      !wantsFirst || usage === undefined || compactions.length > 0 ? undefined : firstPrompt(bytes),
    chars: usage === undefined ? charsBehind(bytes, end) : 0,
  }
}

/**
 * Where compactions of the conversation begin.
 *
 * @param content whole lines
 * @returns offsets in `content`
 */
export const compactionOffsets = (content: Uint8Array): number[] =>
  [...boundariesIn(content)].map(({ line }) => line.from)

/** @returns also where the last compaction ends */
function compactionsIn(bytes: Buffer): { compactions: GlancedCompaction[]; end: number } {
  const compactions: GlancedCompaction[] = []
  let end = 0
  for (const { line, fields } of boundariesIn(bytes)) {
    const metadata = objectOf(fields["compactMetadata"])
    compactions.push({
      trigger: stringOf(metadata["trigger"]) ?? "unknown",
      preTokens: tokenCount(metadata["preTokens"]) || undefined,
      postTokens: tokenCount(metadata["postTokens"]) || undefined,
    })
    end = line.to
  }
  return { compactions, end }
}

/** Excludes compactions of subagents, which old versions of Claude Code wrote into the same file. */
const boundariesIn = (content: Uint8Array) =>
  wantedLines(
    content,
    BOUNDARY,
    ({ type, subtype, isSidechain }) =>
      type === "system" && subtype === "compact_boundary" && isSidechain !== true,
  )

function lastUsage(bytes: Buffer, from: number): Glance["usage"] {
  let at = bytes.lastIndexOf(USAGE)
  for (let passed = 0; at >= from && passed < PASSED_OVER; passed++) {
    const line = lineAt(bytes, at)
    const fields = parsedLine(bytes, line)
    const usage = mainUsage(fields)
    if (usage !== undefined) return { ...usage, version: stringOf(fields["version"]) }
    if (line.from === 0) return undefined
    at = bytes.lastIndexOf(USAGE, line.from - 1)
  }
  return undefined
}

function firstPrompt(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(USAGE), passed = 0; at >= 0 && passed < PASSED_OVER; passed++) {
    const line = lineAt(bytes, at)
    const usage = mainUsage(parsedLine(bytes, line))
    if (usage !== undefined) return promptTokens(usage)
    at = bytes.indexOf(USAGE, line.to)
  }
  return undefined
}

/** An answer without token counts is no reading. Some versions of Claude Code write one after a compaction. */
function mainUsage(line: JsonObject): Usage | undefined {
  const usage = line["isSidechain"] === true ? undefined : messageUsage(stringOf(line["type"]) ?? "", line)
  if (usage === undefined) return undefined
  return promptTokens(usage) > 0 ? usage : undefined
}

function charsBehind(bytes: Buffer, from: number): number {
  let chars = 0
  for (let at = from; at < bytes.length; ) {
    const line = lineAt(bytes, at)
    const fields = parsedLine(bytes, line)
    const isMessage = fields["type"] === "user" || fields["type"] === "assistant"
    if (isMessage && fields["isSidechain"] !== true) chars += lengthOf(objectOf(fields["message"])["content"])
    at = line.to
  }
  return chars
}

/** Length of all text in a message's content, including tool calls and their results. */
function lengthOf(content: unknown): number {
  if (typeof content === "string") return content.length
  if (Array.isArray(content)) {
    let sum = 0
    for (const item of content) sum += lengthOf(item)
    return sum
  }
  if (!isObject(content)) return 0
  const { text, thinking, input, content: inner } = content
  return (
    lengthOf(text) +
    lengthOf(thinking) +
    lengthOf(inner) +
    (isObject(input) ? JSON.stringify(input).length : 0)
  )
}

/* Lines that tell what the user said and what became of tasks, for whoever has no time for all the others. */

const RESULT = '"tool_result"'
/** With these words a user refuses a call (human-replies.ts), and may say why. */
const REFUSED = "The user doesn't want to proceed with this tool use"
/** What the model asks, and what the user answers: in fields beside the result, or in its text alone. */
const ASKED = ['"AskUserQuestion"', '"answers"', "User has answered your questions"]
const SAID = [BOUNDARY, '"queued_command"', REFUSED, ...ASKED]
const TASKS = ['"TodoWrite"', '"TaskCreate"', '"TaskUpdate"', '"Task #']
const TOLD = ['"user"', ...SAID, ...TASKS]

interface TurnOrTaskLine extends LineSpan {
  /** Whether it says more than what became of tasks: the user's words, what they answer, or a compaction. */
  readonly isSaid: boolean
}

/** In their order, without a last line that has no newline. In doubt, a line is one of them. */
export function* turnAndTaskLines(bytes: Buffer): Generator<TurnOrTaskLine> {
  const places = TOLD.map((words) => bytes.indexOf(words))
  for (;;) {
    const at = Math.min(...places.filter((place) => place >= 0))
    if (at === Number.POSITIVE_INFINITY) return
    const line = lineAt(bytes, at)
    if (bytes[line.to - 1] !== NEWLINE) return
    const [user, ...others] = places.map((place) => place >= 0 && place < line.to)
    const isResult = (): boolean => bytes.subarray(line.from, line.to).includes(RESULT)
    const isSaid = others.slice(0, SAID.length).includes(true) || (user === true && !isResult())
    if (isSaid || others.includes(true)) yield { ...line, isSaid }
    for (const [n, place] of places.entries())
      if (place >= 0 && place < line.to) places[n] = bytes.indexOf(TOLD[n]!, line.to)
  }
}

export const SYNTHETIC = "<synthetic>"

/**
 * Token counts of an API message, which Claude Code repeats on each of its lines.
 *
 * @returns undefined for anything that is not an answer of the API
 */
export function messageUsage(type: string, line: JsonObject): Usage | undefined {
  const message = objectOf(line["message"])
  const messageId = stringOf(message["id"])
  const usage = message["usage"]
  const model = stringOf(message["model"]) ?? ""
  // Claude Code's own answers have no counts. Taken as a reading, they would show an empty window.
  if (type !== "assistant" || messageId === undefined || !isObject(usage) || model === SYNTHETIC)
    return undefined
  const tokens = tokensIn(usage)
  const hour = tokenCount(objectOf(usage["cache_creation"])["ephemeral_1h_input_tokens"])
  const isFast = usage["speed"] === "fast"
  return {
    messageId,
    model,
    ...tokens,
    cacheHour: Math.min(hour, tokens.cacheCreation),
    ...(isFast && { isFast }),
  }
}
