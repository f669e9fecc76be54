/**
 * What a session sent to the model, as messages of the Messages API: rebuilt from its transcript, which has one line for
 * each block. Claude Code's own texts around them (the system prompt, tools, CLAUDE.md, most reminders) are not in the
 * transcript, and so not here. Pure.
 */
import { decodeLine } from "../agents/agents.ts"
import { parseJson } from "../base/json-files.ts"
import { messageUsage, SYNTHETIC } from "../claude/glance.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { promptTokens } from "../record/token-counts.ts"
import type { Usage } from "../record/types.ts"
import { UNITS_PER_TOKEN } from "./way.ts"

export interface SentMessage {
  readonly role: "user" | "assistant"
  readonly content: readonly JsonObject[]
}

/** One request for an answer. */
interface SentRequest {
  /** It sent so many of its passage's messages; the next one is the answer. */
  readonly messages: number
  /** message.id of the answer. */
  readonly answer: string
  readonly usage: Usage
  /** ms since 1970, of the last that was said before it; undefined: it has no time. */
  readonly at: number | undefined
}

/** As long as the conversation only grew: each request begins with the messages of the one before. */
export interface Passage {
  readonly begins: "start" | "compaction" | "rewind"
  /** Messages at its beginning that an earlier passage has as well. */
  readonly kept: number
  readonly messages: readonly SentMessage[]
  readonly requests: readonly SentRequest[]
}

/** @param lines of one transcript, from its first or from a compaction on. Those of subagents do not count. */
export function sentPassages(lines: Iterable<string>): Passage[] {
  const passages: Passage[] = []
  let told = new Telling("start", [])
  /** What a compaction kept. It comes behind the summary. */
  let kept: readonly Said[] = []
  const end = (): void => {
    const passage = told.passage()
    if (passage.requests.length > 0) passages.push(passage)
  }
  for (const text of lines) {
    if (!SPEAKS.test(text)) continue
    const line = objectOf(parseJson(text))
    if (line["isSidechain"] === true) continue
    if (line["subtype"] === "compact_boundary") {
      end()
      kept = told.preservedBy(text)
      told = new Telling("compaction", [])
      continue
    }
    const back = told.backTo(line)
    if (back !== undefined) {
      end()
      told = back
    }
    told.add(line, text)
    if (line["isCompactSummary"] !== true) continue
    told.keep(kept)
    kept = []
  }
  end()
  return passages
}

/** Most lines of other types are small, but there are many. */
const SPEAKS = /"type"\s*:\s*"(?:user|assistant|attachment|system)"/

/** What one line says. */
interface Said extends SentMessage {
  readonly uuid: string | undefined
  readonly id: string | undefined
  readonly usage: Usage | undefined
  readonly at: number | undefined
  readonly isPrompt: boolean
  readonly isKept: boolean
}

class Telling {
  readonly #begins: Passage["begins"]
  readonly #said: Said[]
  /** How much had been said behind each line. */
  readonly #places: Map<string, number>

  constructor(begins: Passage["begins"], said: readonly Said[], places = new Map<string, number>()) {
    this.#begins = begins
    this.#said = said.map((one) => ({ ...one, isKept: true }))
    this.#places = places
  }

  add(line: JsonObject, text: string): void {
    const said = saidIn(line, text)
    if (said !== undefined) this.#said.push(said)
    const uuid = stringOf(line["uuid"])
    if (uuid !== undefined) this.#places.set(uuid, this.#said.length)
  }

  keep(said: readonly Said[]): void {
    for (const one of said) this.#said.push({ ...one, isKept: true })
  }

  /** What goes on instead, if the user went back to an earlier prompt; other lines may follow any. */
  backTo(line: JsonObject): Telling | undefined {
    const place = this.#places.get(stringOf(line["parentUuid"]) ?? "")
    if (place === undefined || place === this.#said.length || !isPrompt(line)) return undefined
    if (!this.#said.slice(place).some((said) => said.isPrompt)) return undefined
    return new Telling("rewind", this.#said.slice(0, place), this.#places)
  }

  /** A boundary names all that it kept, or the first and the last of it. */
  preservedBy(boundary: string): readonly Said[] {
    const uuids = decodeLine(boundary).parts.flatMap((part) =>
      part.kind === "boundary" ? part.preserved : [],
    )
    const places = uuids.flatMap((uuid) => this.#said.findIndex((said) => said.uuid === uuid))
    const found = places.filter((place) => place >= 0)
    return found.length === 0 ? [] : this.#said.slice(Math.min(...found), Math.max(...found) + 1)
  }

  passage(): Passage {
    const messages: { role: "user" | "assistant"; content: JsonObject[] }[] = []
    const requests: SentRequest[] = []
    let kept = 0
    let asked: number | undefined
    let answer: { readonly id: string; readonly content: JsonObject[] } | undefined
    for (const { role, content, id, usage, at, isKept } of this.#said) {
      const last = messages.at(-1)
      if (role === "user") asked = at ?? asked
      // Calls that run side by side: a result may stand between two blocks of one answer.
      if (role === "assistant" && id !== undefined && id === answer?.id) answer.content.push(...content)
      else if (role === "user" && last?.role === "user") last.content.push(...content)
      else {
        const message = { role, content: [...content] }
        if (role === "assistant" && id !== undefined) {
          answer = { id, content: message.content }
          if (usage !== undefined && !isKept)
            requests.push({ messages: messages.length, answer: id, usage, at: asked })
        }
        messages.push(message)
      }
      if (isKept) kept = messages.length
    }
    return { begins: this.#begins, kept, messages, requests }
  }
}

function saidIn(line: JsonObject, text: string): Said | undefined {
  const { type } = line
  const uuid = stringOf(line["uuid"])
  const time = Date.parse(stringOf(line["timestamp"]) ?? "")
  const at = Number.isNaN(time) ? undefined : time
  const said = { uuid, id: undefined, usage: undefined, at, isPrompt: isPrompt(line), isKept: false }
  if (type === "attachment" || type === "system") {
    const content = reminders(line, text)
    return content.length === 0 ? undefined : { ...said, role: "user", content }
  }
  if (type !== "user" && type !== "assistant") return undefined
  if (line["isVisibleInTranscriptOnly"] === true && line["isCompactSummary"] !== true) return undefined
  const message = objectOf(line["message"])
  if (message["model"] === SYNTHETIC || line["isApiErrorMessage"] === true) return undefined
  const content = contentOf(message["content"])
  if (content.length === 0) return undefined
  const id = type === "assistant" ? stringOf(message["id"]) : undefined
  return { ...said, role: type, content, id, usage: messageUsage(type, line) }
}

const contentOf = (content: unknown): JsonObject[] =>
  typeof content === "string"
    ? [{ type: "text", text: content }]
    : Array.isArray(content)
      ? content.filter(isObject)
      : []

/** What Claude Code adds to what is said, as far as the transcript has its words. */
function reminders(line: JsonObject, text: string): JsonObject[] {
  if (line["type"] === "system" && line["subtype"] !== "local_command") return []
  const attachment = objectOf(line["attachment"])
  const file = stringOf(objectOf(objectOf(attachment["content"])["file"])["content"])
  const listed = attachment["type"] === "skill_listing" ? stringOf(attachment["content"]) : undefined
  const parts = decodeLine(text).parts.flatMap((part) => ("text" in part ? [part.text] : []))
  return [...((file ?? listed) ? [file ?? listed] : []), ...parts].map((words) => ({
    type: "text",
    text: `<system-reminder>\n${words}\n</system-reminder>`,
  }))
}

function isPrompt(line: JsonObject): boolean {
  if (line["type"] !== "user" || line["isMeta"] === true || line["isCompactSummary"] === true) return false
  const { content } = objectOf(line["message"])
  return !Array.isArray(content) || !content.some((block) => objectOf(block)["type"] === "tool_result")
}

/*
 * How many tokens a message takes. Nobody but the API can count them, but with each answer it tells how many it was sent:
 * what they grew by, over what the messages grew by, is this conversation's own scale. Pure.
 */

interface TokenScale {
  readonly unitsPerToken: number
  /** Tokens of each request that are not in its messages: the system prompt, tools, reminders. */
  readonly overhead: number
}

/** Shorter growth tells little. */
const LEAST_GROWTH = 10_000

/** What no text has. Beyond it, something was sent that the transcript lacks, or the reverse. */
const CREDIBLE = { least: 1.5, most: 6 }

const IMAGE = 1_500

export function scaleOf({ messages, requests }: Passage): TokenScale {
  const units = unitsBefore(messages)
  const sent = requests.map((request) => ({
    units: units[request.messages]!,
    tokens: promptTokens(request.usage),
  }))
  const told = sent.filter(({ tokens }) => tokens > 0)
  const [first] = told
  if (first === undefined) return { unitsPerToken: UNITS_PER_TOKEN, overhead: 0 }
  const last = told.reduce((most, one) => (one.tokens > most.tokens ? one : most))
  const growth = last.tokens - first.tokens
  const ratio = (last.units - first.units) / growth
  const isTold = growth >= LEAST_GROWTH && ratio >= CREDIBLE.least && ratio <= CREDIBLE.most
  const unitsPerToken = isTold ? ratio : UNITS_PER_TOKEN
  return { unitsPerToken, overhead: Math.max(0, Math.round(first.tokens - first.units / unitsPerToken)) }
}

/** Units of JSON before each message, and of all. */
export function unitsBefore(messages: readonly SentMessage[]): number[] {
  const before = [0]
  for (const { content } of messages)
    before.push(before.at(-1)! + content.reduce((sum, block) => sum + unitsOf(block), 0))
  return before
}

/** UTF-16 units of JSON. A picture costs by its area, not by its bytes. */
export function unitsOf(block: JsonObject): number {
  if (block["type"] === "image" || block["type"] === "document") return IMAGE * UNITS_PER_TOKEN
  const { content } = block
  if (Array.isArray(content)) return content.filter(isObject).reduce((sum, item) => sum + unitsOf(item), 100)
  return JSON.stringify(block).length
}

/* What the API's own clearing of tool results leaves of a request, by its documentation. Pure. */

export interface Clearing {
  /** Tokens of a request from which on it clears. */
  readonly trigger: number
  /** Latest uses of tools whose results stay. */
  readonly keep: number
  /** Tokens that a clearing must save. */
  readonly atLeast: number
}

/** Of the tools that a client runs; what stands there afterwards is short. */
const CLEARED = "[cleared]"

/** Index of the message and of the block of each result that may be cleared, oldest first. */
export function clearableResults(
  messages: readonly SentMessage[],
  keep: number,
): [message: number, block: number][] {
  const results = messages.flatMap(({ content }, message) =>
    content.flatMap((block, n): [number, number][] =>
      block["type"] === "tool_result" ? [[message, n]] : [],
    ),
  )
  return keep === 0 ? results : results.slice(0, -keep)
}

export const clearedResult = (block: JsonObject): JsonObject => ({ ...block, content: CLEARED })

/**
 * What `prune native` sets unless asked otherwise: tokens from which on results are cleared (what Claude Code sends
 * before anybody has said anything is half of it), and how many of the latest stay, as one step often calls several
 * tools at once.
 */
export const DEFAULT_CLEARING = { trigger: 50_000, keep: 10 } as const
