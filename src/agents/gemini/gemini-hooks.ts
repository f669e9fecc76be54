/**
 * Gemini CLI's hooks (0.61): what they are told and what is taken from them, and what hooks look for in a session. The
 * documents have the fields of Claude Code's. What is called before a compaction is called before each request, and
 * nothing is called after one: only the transcript tells of it, so it is answered at the next tool or prompt. Pure.
 */
import { parseJson } from "../../base/json-files.ts"
import { decodeEvent } from "../../claude/hooks.ts"
import { listsOurServer } from "../../claude/our-server.ts"
import type { AgentPlaces } from "../../record/agent.ts"
import type { EventName, HookEvent, HookForm } from "../../record/hook-event.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { linesWith, offsetsOf } from "../../record/lines-with.ts"
import { geminiSettings, isGeminiSubagent } from "./gemini-places.ts"

/** What hooks have said at the start stands before the first prompt. */
const TOLD_BEFORE = /^(?:<hook_context>[\s\S]*?<\/hook_context>\s*)+/

function decode(name: EventName, document: unknown): HookEvent | undefined {
  const event = decodeEvent(name, document)
  // A subagent's tools are not the session's.
  if (event === undefined || isGeminiSubagent(event.transcript ?? "")) return undefined
  // Where a session is continued, a file is named in which nothing of it stands.
  const transcript = event.source === "resume" ? undefined : event.transcript
  const prompt = event.prompt?.replace(TOLD_BEFORE, "")
  return { ...event, agent: "gemini", transcript, prompt, isHuman: name === "user-prompt-submit" }
}

/** Its names of the events at which something can be given. */
const GIVING: Partial<Record<EventName, string>> = {
  "session-start": "SessionStart",
  "user-prompt-submit": "BeforeAgent",
  "post-tool-use": "AfterTool",
}

/** Names of our tools, as everybody else calls them. */
const OUR_TOOLS = /`mcp__ctxbridge__/g

const encode: HookForm["encode"] = ({ name }, { text }) => {
  const hookEventName = GIVING[name]
  if (text === "" || hookEventName === undefined) return ""
  const additionalContext = text.replace(OUR_TOOLS, "`mcp_ctxbridge_")
  return JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } })
}

const SNAPSHOT = "<state_snapshot>"
/** ms between a summary and the list that has it, where the list was written for its sake. */
const AT_ONCE = 1000

/**
 * The summary in a list of all messages that a compaction has left, and its id. Such a list is written also where a session
 * is continued, and where outputs are taken out: then the summary in it is older than the list.
 */
function summaryOf(line: JsonObject): { readonly id: string; readonly text: string } | undefined {
  const { messages, lastUpdated } = objectOf(line["$set"])
  for (const one of Array.isArray(messages) ? messages.filter(isObject) : []) {
    const text = textsIn(one["content"]).find((said) => said.trimStart().startsWith(SNAPSHOT))
    if (one["type"] !== "user" || text === undefined) continue
    const age = timeIn(lastUpdated) - timeIn(one["timestamp"])
    return age < AT_ONCE ? { id: stringOf(one["id"]) ?? "", text } : undefined
  }
  return undefined
}

const timeIn = (value: unknown): number => Date.parse(stringOf(value) ?? "")

const textsIn = (content: unknown): string[] =>
  typeof content === "string"
    ? [content]
    : (Array.isArray(content) ? content : []).flatMap((part) => stringOf(objectOf(part)["text"]) ?? [])

/** Where lists begin that a compaction has left; of each summary, the first. */
function compactionOffsets(content: Uint8Array): number[] {
  const seen = new Set<string>()
  return offsetsOf(content, SNAPSHOT, (line) => {
    const id = summaryOf(line)?.id
    if (id === undefined || seen.has(id)) return false
    seen.add(id)
    return true
  })
}

const SAID = '"gemini"'

export const GEMINI_HOOKS: HookForm = {
  decode,
  encode,
  compactionOffsets,
  other: {
    summaryIn: (content) =>
      [...linesWith(content, SNAPSHOT)].flatMap(({ line }) => summaryOf(line)?.text ?? []).at(-1) ?? "",
    hasAnswer: (content) => linesWith(content, SAID).some(({ line }) => line["type"] === "gemini"),
    startsServer: (places: AgentPlaces, read) =>
      listsOurServer(objectOf(parseJson(read(geminiSettings(places)) ?? ""))),
  },
}
