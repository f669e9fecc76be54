/**
 * GitHub's Copilot CLI as one of the agents. Its transcripts have a line for each event of a session, its subagents'
 * among them. Read from 1.0.102, whose schema of events names those of older versions, too.
 */
import { isAbsolute, withSlashes } from "../../base/path.ts"
import type { Agent } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { MARK } from "../../record/our-marks.ts"
import { tokenCount } from "../../record/token-counts.ts"
import type { Part, PromptVia, TranscriptRecord, Usage } from "../../record/types.ts"
import { isCompaction } from "./copilot-hooks.ts"
import { copilotLayout, copilotTranscripts } from "./copilot-places.ts"
import { COPILOT_TOOLS, isAboutFile } from "./copilot-tools.ts"

const NAME = "copilot"
const TITLE = "Copilot CLI"

/** A line's beginning: all types but one have a dot, as no other agent's have before such data. */
const LINE =
  /^\s*\{(?:\s*"(?:id|timestamp|parentId|agentId)"\s*:\s*(?:"[^"\\]*"|null)\s*,)*\s*"type"\s*:\s*"(?:[a-z_]+\.[\w.]+|abort)"\s*,\s*"data"\s*:\s*\{/

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeEvent(text: string): TranscriptRecord {
  const line = parseLine(text)
  if (!isObject(line)) return record("malformed", {}, [])
  const type = stringOf(line["type"]) ?? "unknown"
  const data = objectOf(line["data"])
  switch (type) {
    case "session.start":
    case "session.resume":
      return { ...record(type, line, []), ...aboutSession(data), ...aboutFolder(objectOf(data["context"])) }
    case "session.context_changed":
      return { ...record(type, line, []), ...aboutFolder(data) }
    case "session.usage_record":
      return { ...record(type, line, []), usage: usageOf(line, objectOf(data["usage"])) }
    case "session.compaction_complete":
      return compaction(type, line, data)
    default: {
      const parts = partsOf(type, line, data)
      const isSaid = parts.some(({ kind }) => kind === "prompt")
      return isSaid ? { ...record(type, line, parts), promptSource: "typed" } : record(type, line, parts)
    }
  }
}

/** What a subagent does is told by the same lines, with its name. */
const isSubagents = (line: JsonObject): boolean => stringOf(line["agentId"]) !== undefined

const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  type,
  uuid: stringOf(line["id"]),
  // Names the line before, whatever that is: what was taken back is cut off in the file.
  parentUuid: undefined,
  timestamp: stringOf(line["timestamp"]),
  sessionId: undefined,
  cwd: undefined,
  version: undefined,
  gitBranch: undefined,
  agentId: stringOf(line["agentId"]),
  promptId: undefined,
  program: NAME,
  sidechain: isSubagents(line),
  usage: undefined,
  parts,
})

function aboutSession(data: JsonObject): Partial<TranscriptRecord> {
  const parent = stringOf(data["detachedFromSpawningParentSessionId"])
  return {
    sessionId: stringOf(data["sessionId"]),
    version: stringOf(data["copilotVersion"]),
    spawned: parent === undefined ? undefined : { parent, name: "session" },
  }
}

function aboutFolder(context: JsonObject): Partial<TranscriptRecord> {
  const cwd = stringOf(context["cwd"])
  return {
    cwd: cwd !== undefined && isAbsolute(cwd) ? withSlashes(cwd) : undefined,
    gitBranch: stringOf(context["branch"]),
  }
}

/* Tokens: a line for each request, and what a compaction took. */

function usageOf(line: JsonObject, told: JsonObject): Usage | undefined {
  const input = tokenCount(told["inputTokens"])
  const output = tokenCount(told["outputTokens"])
  if (input + output === 0) return undefined
  const cacheRead = Math.min(input, tokenCount(told["cacheReadTokens"]))
  const cacheCreation = Math.min(input - cacheRead, tokenCount(told["cacheWriteTokens"]))
  const { sourceSessionId, sequence } = objectOf(told["accounting"])
  const isNumbered = typeof sourceSessionId === "string" && typeof sequence === "number"
  return {
    messageId: `${NAME} ${isNumbered ? `${sourceSessionId} ${sequence}` : stringOf(line["id"])}`,
    model: stringOf(told["model"]) ?? "",
    input: input - cacheRead - cacheCreation,
    output,
    cacheCreation,
    cacheRead,
    cacheHour: 0,
  }
}

function compaction(type: string, line: JsonObject, data: JsonObject): TranscriptRecord {
  const usage = usageOf(line, objectOf(data["compactionTokensUsed"]))
  if (!isCompaction(line)) return { ...record(type, line, []), usage }
  const text = stringOf(data["summaryContent"])
  const boundary: Part = {
    kind: "boundary",
    trigger: triggerIn(data),
    preTokens: tokenCount(data["preCompactionTokens"]) || undefined,
    postTokens: tokenCount(data["postCompactionTokens"]) || undefined,
    preserved: [],
  }
  const summary: Part[] = text === undefined ? [] : [{ kind: "summary", text, by: TITLE }]
  return { ...record(type, line, [boundary, ...summary]), usage }
}

function triggerIn({ trigger }: JsonObject): string {
  if (typeof trigger !== "string") return "unknown"
  return trigger === "manual" ? "manual" : "auto"
}

/* What is said, thought and done. */

function partsOf(type: string, line: JsonObject, data: JsonObject): Part[] {
  switch (type) {
    case "user.message":
      return [...saidIn(line, data), ...attached(data).flatMap(mediaPart)]
    case "assistant.message":
      return answerParts(data)
    case "tool.execution_complete":
      return resultParts(data)
    case "tool.user_requested": {
      const text = stringOf(objectOf(data["arguments"])["command"])
      return text === undefined ? [] : [{ kind: "prompt", via: "bash", text }]
    }
    case "human_response.recorded":
      return repliesIn(data)
    case "hook.end": {
      const text = stringOf(objectOf(data["output"])["additionalContext"])
      return text === undefined ? [] : [{ kind: "context", source: `hook:${data["hookType"]}`, text }]
    }
    case "skill.invoked": {
      const text = stringOf(data["content"])
      return text === undefined ? [] : [{ kind: "context", source: "skill", text }]
    }
    case "session.binary_asset":
      return mediaPart(data)
    case "system.notification": {
      const text = stringOf(data["content"])
      return text === undefined ? [] : [{ kind: "notice", text }]
    }
    case "session.error": {
      const text = stringOf(data["message"])
      return text === undefined ? [] : [{ kind: "apiError", text }]
    }
    case "abort":
      return [{ kind: "interrupt", text: stringOf(data["reason"]) ?? "aborted" }]
    default:
      return []
  }
}

/** The words as they were typed; what the model is sent has Copilot's own and hooks' around them. */
function saidIn(line: JsonObject, data: JsonObject): Part[] {
  const text = stringOf(data["content"])
  if (text === undefined || text.trim() === "") return []
  if (isSubagents(line)) return [{ kind: "brief", text }]
  const via = viaOf(data)
  if (text.trimStart().startsWith(MARK)) return [{ kind: "context", source: NAME, text }]
  return [via === undefined ? { kind: "notice", text } : { kind: "prompt", via, text }]
}

/** @returns undefined for what no human has said: Copilot names whose words stand in the user's place */
function viaOf({ source, delivery, isAutopilotContinuation }: JsonObject): PromptVia | undefined {
  if (isAutopilotContinuation === true) return undefined
  if (typeof source === "string" && source.startsWith("command-")) return "command"
  if (source !== undefined && source !== "user") return undefined
  return delivery === "steering" || delivery === "queued" ? "queued" : "typed"
}

function answerParts(data: JsonObject): Part[] {
  const thought = stringOf(data["reasoningText"])
  const text = stringOf(data["content"])
  const calls = Array.isArray(data["toolRequests"]) ? data["toolRequests"].filter(isObject) : []
  return [
    ...(thought === undefined ? [] : [{ kind: "thinking", text: thought } as const]),
    ...(text === undefined ? [] : [{ kind: "text", text } as const]),
    ...calls.map(callPart),
  ]
}

function repliesIn({ actor, toolCallId, response }: JsonObject): Part[] {
  const told = objectOf(response)
  if (actor !== "human_response") return []
  const within = stringOf(toolCallId) ?? ""
  switch (told["responseKind"]) {
    case "user_input": {
      const text = stringOf(told["answer"])
      return text === undefined
        ? []
        : [{ kind: "reply", question: stringOf(told["question"]) ?? "", text, within }]
    }
    case "ask_user": {
      const values = Object.values(objectOf(told["content"])).flat()
      const text = values
        .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
        .join(", ")
      return text === "" ? [] : [{ kind: "reply", question: stringOf(told["message"]) ?? "", text, within }]
    }
    case "exit_plan_mode": {
      const text = stringOf(told["feedback"])
      return text === undefined ? [] : [{ kind: "prompt", via: "typed", text }]
    }
    default:
      return []
  }
}

/* Calls. */

function callPart(request: JsonObject): Part {
  const [server, tool] = [stringOf(request["mcpServerName"]), stringOf(request["mcpToolName"])]
  const told = stringOf(request["name"]) ?? ""
  const input = request["arguments"] ?? {}
  // One tool of older versions stood for several.
  const name = told === "str_replace_editor" ? (stringOf(objectOf(input)["command"]) ?? told) : told
  return {
    kind: "toolUse",
    id: stringOf(request["toolCallId"]) ?? "",
    // Tools of servers have the names that they have everywhere, so that our own are known again.
    name: server !== undefined && tool !== undefined ? `mcp__${server}__${tool}` : name,
    input: server === undefined ? inputOf(name, input) : input,
  }
}

/** In the form that inputs of such tools have everywhere. */
function inputOf(name: string, input: unknown): unknown {
  if (name === "apply_patch") return { patch: typeof input === "string" ? input : objectOf(input)["input"] }
  if (!isAboutFile(name) || !isObject(input)) return input
  const { path, old_str, new_str, file_text, ...rest } = input
  return {
    ...(path !== undefined && { file_path: path }),
    ...(old_str !== undefined && { old_string: old_str }),
    ...(new_str !== undefined && { new_string: new_str }),
    ...(file_text !== undefined && { content: file_text }),
    ...rest,
  }
}

/** What hooks said at its end stands behind a tool's own words, and in a line of its own. */
const GUIDANCE = /\n\nTool "[^"\n]*" \w+\. Additional guidance from \w+ hooks:\n[\s\S]*$/
/** The last line of a command's output. */
const STATUS = /\n?<(?:shellId: \S+ completed|(?:command )?exited) with exit code (-?\d{1,10})>\s*$/

function resultParts(data: JsonObject): Part[] {
  const result = objectOf(data["result"])
  const isFailed = data["success"] === false
  const told =
    (isFailed ? stringOf(objectOf(data["error"])["message"]) : undefined) ?? stringOf(result["content"])
  const own = (told ?? "").replace(GUIDANCE, "")
  const exit = objectOf(data["shellExecution"])["exitCode"]
  const status = typeof exit === "number" ? exit : Number(STATUS.exec(own)?.[1] ?? 0)
  const isError = isFailed || status !== 0
  const head = status === 0 ? "" : `Exit code ${status}\n`
  const text = head + own.replace(STATUS, "")
  if (data["isUserRequested"] === true) return [{ kind: "output", text, isError }]
  const id = stringOf(data["toolCallId"]) ?? ""
  return [{ kind: "toolResult", id, text, isError }, ...binaries(data).flatMap(mediaPart)]
}

/* Images and the like. Most are lines of their own, which others name. */

const attached = (data: JsonObject): JsonObject[] =>
  Array.isArray(data["attachments"]) ? data["attachments"].filter(isObject) : []

const binaries = (data: JsonObject): JsonObject[] => {
  const { binaryResultsForLlm: list } = objectOf(data["result"])
  return Array.isArray(list) ? list.filter(isObject) : []
}

function mediaPart({ mimeType, data }: JsonObject): Part[] {
  if (typeof mimeType !== "string" || typeof data !== "string") return []
  return [{ kind: "media", mediaType: mimeType, base64Length: data.length }]
}

/** Their base64, in the line's order. */
function mediaIn(text: string): string[] {
  const data = objectOf(objectOf(parseLine(text))["data"])
  return [data, ...attached(data), ...binaries(data)].flatMap((one) =>
    mediaPart(one).length > 0 ? [`${one["data"]}`] : [],
  )
}

export const copilot: Agent = {
  name: NAME,
  title: TITLE,
  transcripts: copilotTranscripts,
  isNamedAsTranscript: (path) => copilotLayout.isTranscript!(path),
  wrote: (line) => LINE.test(line.slice(0, 400)),
  decode: decodeEvent,
  partsOf: decodeEvent,
  mediaData: mediaIn,
  tools: COPILOT_TOOLS,
}
