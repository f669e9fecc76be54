/**
 * Codex' hooks (0.118 to 0.171): what its file calls them, what it tells them and takes from them, and what hooks look
 * for in a rollout. Its documents have the fields of Claude Code's; a field that it does not know in an answer makes it
 * refuse the whole. Pure.
 */
import { tryTo } from "../../base/files.ts"
import { join } from "../../base/path.ts"
import { decodeEvent, encodeReply } from "../../claude/hooks.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import type { EventName, HookEvent, HookForm } from "../../record/hook-event.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { linesWith, offsetsOf } from "../../record/lines-with.ts"
import { codexFolder } from "./codex-places.ts"

function decode(name: EventName, document: unknown): HookEvent | undefined {
  const event = decodeEvent(name, document)
  if (event === undefined) return undefined
  // What a subagent is told to do is no human's prompt.
  const isSubagents = stringOf(objectOf(document)["agent_id"]) !== undefined && name !== "subagent-stop"
  return { ...event, agent: "codex", isHuman: name === "user-prompt-submit" && !isSubagents, isSubagents }
}

/** Before a compaction nothing can be said to the model. */
const encode: HookForm["encode"] = (event, reply) =>
  event.name === "session-start" || event.name === "user-prompt-submit" ? encodeReply(event, reply) : ""

const COMPACTED = '"compacted"'
const ITEM = '"response_item"'

const isCompacted = (line: JsonObject): boolean => line["type"] === "compacted"

/** The user's messages are kept beside the summary. */
function leftIn(content: Buffer): string {
  const found = [...linesWith(content, COMPACTED)].findLast(({ line }) => isCompacted(line))
  const { message, replacement_history: kept } = objectOf(found?.line["payload"])
  const items = Array.isArray(kept) ? kept.map(objectOf) : []
  const texts = items.flatMap((item) => (Array.isArray(item["content"]) ? item["content"] : []))
  return [message, ...texts.map((one) => objectOf(one)["text"])]
    .flatMap((one) => stringOf(one) ?? [])
    .join("\n")
}

/** Whether a configuration lists our server, and does not switch it off. */
function listsServer(config: string): boolean {
  if (!config.includes(SERVER_NAME)) return false
  const { mcp_servers: servers } = objectOf(tryTo(() => Bun.TOML.parse(config)))
  const server = objectOf(servers)[SERVER_NAME]
  return isObject(server) && server["enabled"] !== false
}

/** Said or called by the model. */
function isAnswer(line: JsonObject): boolean {
  if (line["type"] !== "response_item" || objectOf(line["metadata"])["compaction_output"] === true)
    return false
  const { type, role } = objectOf(line["payload"])
  return (type === "message" && role === "assistant") || (typeof type === "string" && type.endsWith("_call"))
}

export const CODEX_HOOKS: HookForm = {
  decode,
  encode,
  compactionOffsets: (content) => offsetsOf(content, COMPACTED, isCompacted),
  other: {
    summaryIn: leftIn,
    showsNotes: true,
    hasAnswer: (content) => linesWith(content, ITEM).some(({ line }) => isAnswer(line)),
    startsServer: (places, read) => listsServer(read(join(codexFolder(places), "config.toml")) ?? ""),
  },
}
