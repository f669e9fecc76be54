/** Lines that the host writes of its own accord: system events, attachments, the prompt queue. */

import { isObject, type JsonObject, objectOf, stringOf } from "../transcript/json.ts"
import { tokenCount } from "../transcript/token-counts.ts"
import type { Part } from "../transcript/types.ts"
import { textsOf } from "./content.ts"
import { queuedTextParts, type Speaker, userTextParts } from "./user-text.ts"

/** Events that consist of words. Their `content` is always the host's, whatever it looks like. */
const TOLD = new Set(["informational", "away_summary", "scheduled_task_fire", "bridge_status"])

/** Parts of a `system` line. */
export function systemParts(line: JsonObject, speaker: Speaker): Part[] {
  const subtype = line["subtype"]
  const content = stringOf(line["content"])
  switch (subtype) {
    case "compact_boundary":
      return [boundaryPart(objectOf(line["compactMetadata"]))]
    case "api_error": {
      const text = content ?? errorText(line["error"])
      return text === undefined ? [] : [{ kind: "apiError", text }]
    }
    case "local_command":
      return content === undefined ? [] : userTextParts(content, speaker)
    case "stop_hook_summary":
      return textsOf(line["hookAdditionalContext"]).map((text) => contextPart("hook:Stop", text))
    case undefined:
    case null:
      // The oldest clients reported everything this way, including output of slash commands.
      return content === undefined ? [] : userTextParts(content, "host")
    default:
      if (content === undefined || typeof subtype !== "string" || !TOLD.has(subtype)) return []
      return [{ kind: "notice", text: content }]
  }
}

/** Parts of an `attachment` line. */
export function attachmentParts(attachment: JsonObject, speaker: Speaker): Part[] {
  const event = stringOf(attachment["hookEvent"]) ?? stringOf(attachment["hookName"])
  switch (attachment["type"]) {
    case "queued_command":
      return queuedCommandParts(attachment, speaker)
    case "hook_additional_context":
      return textsOf(attachment["content"]).map((text) => contextPart(`hook:${event ?? "unknown"}`, text))
    case "hook_success":
      // Only these two events show a hook's plain output to the model.
      if (event !== "SessionStart" && event !== "UserPromptSubmit") return []
      return textsOf(attachment["content"]).map((text) => contextPart(`hook:${event}`, text))
    case "hook_blocking_error": {
      const error = attachment["blockingError"]
      const text = stringOf(isObject(error) ? error["blockingError"] : error)
      return text === undefined ? [] : [{ kind: "notice", text }]
    }
    default:
      return []
  }
}

function queuedCommandParts(attachment: JsonObject, speaker: Speaker): Part[] {
  const mode = attachment["commandMode"]
  const isHosts = attachment["isMeta"] === true || mode === "task-notification" || isForeign(attachment)
  const by = isHosts ? "host" : speaker
  return textsOf(attachment["prompt"]).flatMap((text) =>
    userTextParts(text, by, mode === "bash" ? "bash" : "queued"),
  )
}

/** Whether the host names somebody other than a human as the source of the words. */
export function isForeign(line: JsonObject): boolean {
  const kind = objectOf(line["origin"])["kind"]
  return line["promptSource"] === "system" || (typeof kind === "string" && kind !== "human")
}

/** Parts of a `queue-operation` line. */
export function queueParts(line: JsonObject): Part[] {
  return textsOf(line["content"]).flatMap(queuedTextParts)
}

/** Parts of the lines that name the session. */
export function titleParts(line: JsonObject): Part[] {
  const text = stringOf(line["summary"]) ?? stringOf(line["customTitle"]) ?? stringOf(line["aiTitle"])
  return text === undefined ? [] : [{ kind: "title", text }]
}

function boundaryPart(metadata: JsonObject): Part {
  const preTokens = metadata["preTokens"]
  const kept = metadata["preservedMessages"]
  const segment = objectOf(metadata["preservedSegment"])
  // A segment names only its ends (its anchor is the summary, which is new). A list, if present, names all.
  const lists = isObject(kept) ? [kept["uuids"], kept["allUuids"]] : [kept]
  const uuids = [...lists.flat(), segment["headUuid"], segment["tailUuid"]]
  const preserved = uuids.map((entry) => stringOf(isObject(entry) ? entry["uuid"] : entry))
  return {
    kind: "boundary",
    trigger: stringOf(metadata["trigger"]) ?? "unknown",
    preTokens: Number.isSafeInteger(preTokens) ? (preTokens as number) : undefined,
    postTokens: tokenCount(metadata["postTokens"]) || undefined,
    preserved: [...new Set(preserved.filter((uuid) => uuid !== undefined))],
  }
}

/** The message of an API error, which clients nest to varying depths. */
function errorText(error: unknown): string | undefined {
  let at = error
  for (let depth = 0; depth < 5; depth++) {
    if (!isObject(at)) return stringOf(at)
    const text = stringOf(at["message"]) ?? stringOf(at["code"])
    if (text !== undefined) return text
    at = at["error"] ?? at["cause"]
  }
  return undefined
}

function contextPart(source: string, text: string): Part {
  return { kind: "context", source, text }
}
