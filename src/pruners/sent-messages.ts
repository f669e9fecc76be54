/**
 * What a session sent to the model, as messages of the Messages API: rebuilt from its transcript, which has one line for
 * each block. Claude Code's own texts around them (the system prompt, tools, CLAUDE.md, most reminders) are not in the
 * transcript, and so not here. Pure.
 */
import { decodeLine } from "../agents/decode.ts"
import { messageUsage, SYNTHETIC } from "../claude/usage.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../transcript/json.ts"
import type { Usage } from "../transcript/types.ts"
import { parseJson } from "../util/parse-json.ts"

export interface SentMessage {
  readonly role: "user" | "assistant"
  readonly content: readonly JsonObject[]
}

/** One request for an answer. */
export interface SentRequest {
  /** It sent so many of its passage's messages; the next one is the answer. */
  readonly messages: number
  /** message.id of the answer. */
  readonly answer: string
  readonly usage: Usage
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
    let answer: { readonly id: string; readonly content: JsonObject[] } | undefined
    for (const { role, content, id, usage, isKept } of this.#said) {
      const last = messages.at(-1)
      // Calls that run side by side: a result may stand between two blocks of one answer.
      if (role === "assistant" && id !== undefined && id === answer?.id) answer.content.push(...content)
      else if (role === "user" && last?.role === "user") last.content.push(...content)
      else {
        const message = { role, content: [...content] }
        if (role === "assistant" && id !== undefined) {
          answer = { id, content: message.content }
          if (usage !== undefined && !isKept) requests.push({ messages: messages.length, answer: id, usage })
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
  const said = { uuid, id: undefined, usage: undefined, isPrompt: isPrompt(line), isKept: false }
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
