/**
 * Qwen Code's hooks (0.24): what they are told and what is taken from them, and what hooks look for in a session. The
 * documents have the fields of Claude Code's. After a compaction, a start is told that nobody waits for, and what is said
 * then takes the place of what the first start was told: so a compaction is answered at the next tool or prompt. Pure.
 */
import { parseJson } from "../../base/json-files.ts"
import { decodeEvent } from "../../claude/hooks.ts"
import { listsOurServer } from "../../claude/our-server.ts"
import type { AgentPlaces } from "../../record/agent.ts"
import type { EventName, HookEvent, HookForm } from "../../record/hook-event.ts"
import { type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { linesWith, offsetsOf } from "../../record/lines-with.ts"
import { compactionSummary, qwenSettings } from "./qwen-places.ts"

function decode(name: EventName, document: unknown): HookEvent | undefined {
  const fields = objectOf(document)
  // A subagent's tools and compactions are not the session's.
  if (stringOf(fields["agent_id"]) !== undefined && name !== "subagent-stop") return undefined
  if (name === "session-start" && fields["source"] === "compact") return undefined
  // What is submitted after each tool is no prompt.
  if (name === "user-prompt-submit" && fields["prompt"] === "") return undefined
  const event = decodeEvent(name, document)
  if (event === undefined) return undefined
  const prompt = stringOf(fields["submitted_prompt"])?.toWellFormed() ?? event.prompt
  return { ...event, agent: "qwen", prompt, isHuman: name === "user-prompt-submit", isSubagents: false }
}

/** Its names of the events at which something can be given. */
const GIVING: Partial<Record<EventName, string>> = {
  "session-start": "SessionStart",
  "user-prompt-submit": "UserPromptSubmit",
  "post-tool-use": "PostToolUse",
}

const encode: HookForm["encode"] = ({ name }, { text }) => {
  const hookEventName = GIVING[name]
  return text === "" || hookEventName === undefined
    ? ""
    : JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext: text } })
}

const COMPACTED = '"chat_compression"'
const SAID = '"assistant"'

const isCompaction = (line: JsonObject): boolean =>
  line["type"] === "system" && line["subtype"] === "chat_compression"

function summaryIn(content: Buffer): string {
  const found = [...linesWith(content, COMPACTED)].findLast(({ line }) => isCompaction(line))
  return compactionSummary(objectOf(found?.line["systemPayload"])) ?? ""
}

export const QWEN_HOOKS: HookForm = {
  decode,
  encode,
  compactionOffsets: (content) => offsetsOf(content, COMPACTED, isCompaction),
  other: {
    summaryIn,
    hasAnswer: (content) => linesWith(content, SAID).some(({ line }) => line["type"] === "assistant"),
    startsServer: (places: AgentPlaces, read) =>
      listsOurServer(objectOf(parseJson(read(qwenSettings(places)) ?? ""))),
  },
}
