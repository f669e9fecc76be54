/**
 * OpenAI's Codex as one of the agents. Its rollouts have a line for each thing that happened, in two forms that differ in
 * few: versions up to 0.14x write `legacy` ones, later ones `paginated`. Read from 0.118 to 0.169.
 */
import { parseJson } from "../../base/json-files.ts"
import { isAbsolute, withSlashes } from "../../base/path.ts"
import { isPlainId } from "../../base/session-id.ts"
import { shellWord } from "../../base/text.ts"
import type { Agent, HistoryPrompt } from "../../record/agent.ts"
import { isObject, type JsonObject, listedStrings, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { MARK } from "../../record/our-marks.ts"
import { tokenCount } from "../../record/token-counts.ts"
import {
  type Part,
  plainRecord,
  type TranscriptRecord,
  UNTOLD_COMPACTION,
  type Usage,
} from "../../record/types.ts"
import { codexFolder, codexLayout, codexTranscripts } from "./codex-places.ts"
import { CODEX_TOOLS, isCodexShell, PATCH } from "./codex-tools.ts"

const NAME = "codex"
const TITLE = "Codex"

/** A line's beginning: no other agent's has a payload after these. */
const LINE = /^\s*\{(?:\s*"(?:timestamp|ordinal|type)"\s*:\s*(?:"[^"\\]*"|\d+)\s*,)+\s*"payload"\s*:\s*\{/

/** The same of a rollout of the first versions, whose lines are the items themselves: the session's, and its state. */
const FIRST_LINE =
  /^\s*\{"(?:id":"[\da-f-]{36}","timestamp":"[^"]*","instructions"|record_type":"state"|type":"(?:message","(?:id":(?:null|"[^"]*"),")?role"|reasoning","(?:id|summary)"|function_call(?:_output)?","(?:id|name|call_id)"|local_shell_call","(?:id|call_id|status)"))/

/** A line of the list of all prompts. */
const TYPED_LINE = /^\s*\{"session_id":"[\w-]+","ts":\d+,"text":"/

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeRollout(text: string): TranscriptRecord {
  const line = parseLine(text)
  return isObject(line) ? decodeObject(line) : record("malformed", {}, [])
}

function decodeObject(line: JsonObject): TranscriptRecord {
  if (!isObject(line["payload"])) return decodeFirst(line)
  const payload = objectOf(line["payload"])
  const type = stringOf(line["type"]) ?? "unknown"
  const kind = stringOf(payload["type"])
  const name = kind === undefined ? type : `${type}/${kind}`
  switch (type) {
    case "session_meta":
      return { ...record(name, line, []), ...aboutSession(payload) }
    case "turn_context":
      return { ...record(name, line, []), cwd: folderIn(payload), model: stringOf(payload["model"]) }
    case "response_item": {
      const parts = itemParts(payload, line)
      const said = parts.some((part) => part.kind === "prompt") ? { promptSource: "typed" } : {}
      return { ...record(name, line, parts), uuid: idOf(payload), ...said }
    }
    case "compacted":
      return record(name, line, compactionParts(payload))
    case "event_msg":
      return kind === "token_count"
        ? { ...record(name, line, []), usage: eventUsage(objectOf(payload["info"])) }
        : { ...record(name, line, eventParts(payload)), undone: undoneIn(payload) }
    case "token_usage_record":
      return {
        ...record(name, line, []),
        usage: usageIn(objectOf(payload["usage"]), objectOf(payload["thread_token_usage"])),
      }
    default:
      return record(name, line, [])
  }
}

/** A line of the first versions (2025), which has no time and no payload. */
function decodeFirst(line: JsonObject): TranscriptRecord {
  const typed = typedIn(line)
  if (typed !== undefined) {
    const { session, time, text } = typed
    const parts: Part[] = text === "" ? [] : [{ kind: "prompt", via: "history", text }]
    return { ...record("user", line, parts), timestamp: time, sessionId: session, imported: true }
  }
  const type = stringOf(line["type"])
  if (type !== undefined) {
    const parts = itemParts(line, line)
    const said = parts.some((part) => part.kind === "prompt") ? { promptSource: "typed" } : {}
    return {
      ...record(`response_item/${type}`, line, parts),
      uuid: idOf(line),
      cwd: folderTold(line),
      ...said,
    }
  }
  return line["instructions"] === undefined
    ? record(stringOf(line["record_type"]) ?? "unknown", line, [])
    : { ...record("session_meta", line, []), ...aboutSession(line) }
}

/** `history.jsonl` has every prompt that was typed, in seconds, and does not say in which folder. */
function typedIn({ session_id, ts, text }: JsonObject): HistoryPrompt | undefined {
  if (typeof session_id !== "string" || typeof ts !== "number" || typeof text !== "string") return undefined
  if (!isPlainId(session_id) || !(ts >= 0 && ts <= LATEST)) return undefined
  const time = new Date(ts * 1000).toISOString()
  return { session: session_id, time, text: text.trim(), project: undefined }
}

/** Seconds; a Date has no later ones. */
const LATEST = 8.64e12

/** Only what Codex tells the model names the folder there. */
function folderTold(item: JsonObject): string | undefined {
  const told = textsIn(item["content"]).find((text) => text.includes("<environment_context>"))
  const folder = /(?:<cwd>|Current working directory: )([^\n<]+)/.exec(told ?? "")?.[1]
  return folder === undefined ? undefined : folderIn({ cwd: folder.trim() })
}

const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  timestamp: stringOf(line["timestamp"]),
})

/** Shorter ones are those of a model's server that counts within a session: they would name several messages. */
const LEAST_ID = 16

/** Forks copy lines with their ids. Lines of older versions have none. */
function idOf(item: JsonObject): string | undefined {
  const id = stringOf(item["id"])
  return id !== undefined && id.length >= LEAST_ID ? id : undefined
}

function folderIn(payload: JsonObject): string | undefined {
  const folder = stringOf(payload["cwd"])
  return folder !== undefined && isAbsolute(folder) ? withSlashes(folder) : undefined
}

function aboutSession(meta: JsonObject): Partial<TranscriptRecord> {
  return {
    sessionId: stringOf(meta["id"]) ?? stringOf(meta["session_id"]),
    cwd: folderIn(meta),
    version: stringOf(meta["cli_version"]),
    gitBranch: stringOf(objectOf(meta["git"])["branch"]),
    spawned: spawnedBy(meta),
    forked: forkedFrom(meta),
  }
}

/** In the paginated form, a fork goes on behind a part of the other's file; in the legacy form, it has a copy of that. */
function forkedFrom(meta: JsonObject): TranscriptRecord["forked"] {
  const base = objectOf(meta["history_base"])
  const from = stringOf(base["thread_id"]) ?? stringOf(meta["forked_from_id"])
  const end = base["end_byte_offset"]
  return from === undefined ? undefined : { from, upTo: typeof end === "number" ? end : undefined }
}

function undoneIn(payload: JsonObject): number | undefined {
  const many = payload["type"] === "thread_rolled_back" ? payload["num_turns"] : undefined
  return typeof many === "number" && many > 0 ? many : undefined
}

/** Of a thread that another one has started, for a task or a review. */
function spawnedBy(meta: JsonObject): TranscriptRecord["spawned"] {
  const how = objectOf(meta["source"])["subagent"]
  if (how === undefined && meta["thread_source"] !== "subagent") return undefined
  const spawn = objectOf(objectOf(how)["thread_spawn"])
  const names = [meta["agent_nickname"], spawn["agent_nickname"], meta["agent_role"], how]
  return {
    parent: stringOf(meta["parent_thread_id"]) ?? stringOf(spawn["parent_thread_id"]) ?? "unknown",
    name: names.map(stringOf).find((name) => name !== undefined) ?? "subagent",
  }
}

/** Of a compaction by OpenAI's own servers, nobody can read the summary. */
function compactionParts(payload: JsonObject): Part[] {
  const text = stringOf(payload["message"])
  return [UNTOLD_COMPACTION, ...(text === undefined ? [] : [{ kind: "summary", text, by: TITLE } as const])]
}

/** Of events, only those that tell what no item does. */
function eventParts(payload: JsonObject): Part[] {
  switch (payload["type"]) {
    case "turn_aborted":
      return [{ kind: "interrupt", text: stringOf(payload["reason"]) ?? "aborted" }]
    case "error": {
      const text = stringOf(payload["message"])
      return text === undefined ? [] : [{ kind: "apiError", text }]
    }
    case "thread_name_updated": {
      const text = stringOf(payload["thread_name"])
      return text === undefined ? [] : [{ kind: "title", text }]
    }
    default:
      return []
  }
}

/* Tokens. Newer versions tell a request's twice, in both forms, and may repeat one: the totals so far name it. */

const eventUsage = (info: JsonObject): Usage | undefined =>
  usageIn(objectOf(info["last_token_usage"]), objectOf(info["total_token_usage"]))

function usageIn(last: JsonObject, total: JsonObject): Usage | undefined {
  const input = tokenCount(last["input_tokens"])
  const output = tokenCount(last["output_tokens"])
  const sum = tokenCount(total["total_tokens"])
  // After a compaction, what is left in the window is told the same way.
  if (input + output === 0 || sum === 0) return undefined
  const cacheRead = Math.min(input, tokenCount(last["cached_input_tokens"]))
  const cacheCreation = Math.min(input - cacheRead, tokenCount(last["cache_write_input_tokens"]))
  return {
    messageId: `${NAME} ${sum}`,
    model: "",
    input: input - cacheRead - cacheCreation,
    output,
    cacheCreation,
    cacheRead,
    cacheHour: 0,
  }
}

/*
 * What the items mean that Codex exchanges with its model: messages, thoughts, calls and their outputs. A rollout tells
 * most of it once more as events, which are passed over.
 */

function itemParts(item: JsonObject, line: JsonObject): Part[] {
  switch (item["type"]) {
    case "message":
      return messageParts(item, line)
    case "reasoning":
      return [...textsIn(item["summary"]), ...textsIn(item["content"])].map((text) => ({
        kind: "thinking",
        text,
      }))
    case "function_call":
      return [call(item, nameOf(item), argumentsIn(item["arguments"]))]
    case "custom_tool_call":
      return [call(item, nameOf(item), argumentsIn(item["input"]))]
    case "local_shell_call":
      return [call(item, "local_shell", item["action"])]
    case "tool_search_call":
      return [call(item, "tool_search", argumentsIn(item["arguments"]))]
    case "web_search_call":
      // Older versions do not tell what was searched for.
      return isObject(item["action"]) ? [call(item, "web_search_call", item["action"])] : []
    case "image_generation_call":
      return [call(item, "image_generation", { prompt: item["revised_prompt"] })]
    case "function_call_output":
    case "custom_tool_call_output":
    case "mcp_tool_call_output":
      return resultParts(item)
    case "tool_search_output":
      return [{ kind: "toolResult", id: callId(item), text: toolNames(item["tools"]), isError: false }]
    // What one agent tells another.
    case "agent_message":
      return textsIn(item["content"]).map((text) => ({ kind: "notice", text }))
    default:
      return []
  }
}

/** Texts of a list of content, or of one. */
function textsIn(content: unknown): string[] {
  if (typeof content === "string") return content === "" ? [] : [content]
  const list = Array.isArray(content) ? content : [content]
  return list.flatMap((one: unknown) => stringOf(objectOf(one)["text"]) ?? [])
}

/* Messages. Codex speaks to the model as the user and as the developer, too. */

function messageParts(item: JsonObject, line: JsonObject): Part[] {
  const { role } = item
  const content = Array.isArray(item["content"]) ? item["content"].map(objectOf) : []
  // The summary of a compaction, which its own line has as well.
  if (role === "assistant" && objectOf(line["metadata"])["compaction_output"] === true) return []
  const kinds = listedStrings(
    objectOf(item["internal_chat_message_metadata_passthrough"])["content_item_kinds"],
  )
  return content.flatMap((one, n): Part[] => {
    const text = stringOf(one["text"])
    if (text === undefined) return mediaPart(one)
    if (role === "assistant") return [{ kind: "text", text }]
    return role === "user" ? userParts(text, kinds[n]) : hostParts(text, kinds[n])
  })
}

/** What Codex itself tells the model of where it is and what it may do: the same in each session, and nobody's words. */
const HARNESS =
  /^\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|permissions instructions|collaboration_mode|skills_instructions|apps_instructions|plugins_instructions|personality_spec|model_switch|INSTRUCTIONS|turn_aborted|image\b|\/image)|Warning: apply_patch was requested via )/
/** What it tells besides: of agents that it has started, skills, hooks. A human's words are not in such tags. */
const TOLD = /^\s*<([a-z]+(?:_[a-z]+)+|skill)(?:\s[^>]*)?>[\s\S]*<\/\1>\s*$/
const COMMAND =
  /^\s*<user_shell_command>\s*<command>\n?([\s\S]*?)\n?<\/command>\s*<result>\n?([\s\S]*)<\/result>\s*<\/user_shell_command>\s*$/
/** Asked first: without it, that one would go through the text again from each piece that looks like its middle. */
const COMMAND_END = /<\/result>\s*<\/user_shell_command>\s*$/
const HOOKS_CONTEXT = "hooks.additional_context"

/** @param kind as newer versions name it, for each piece of the content */
function userParts(text: string, kind: string | undefined): Part[] {
  const [, command, output = ""] = (COMMAND_END.test(text) && COMMAND.exec(text)) || []
  if (command !== undefined)
    return [
      { kind: "prompt", via: "bash", text: command },
      { kind: "output", text: output.replace(/\n$/, ""), isError: /^Exit code: [1-9]/.test(output) },
    ]
  const isTyped = kind === undefined ? !HARNESS.test(text) && !TOLD.test(text) : kind.startsWith("user.")
  if (!isTyped || text.trimStart().startsWith(MARK)) return hostParts(text, kind)
  return text.trim() === "" ? [] : [{ kind: "prompt", via: "typed", text }]
}

function hostParts(text: string, kind: string | undefined): Part[] {
  if (kind === HOOKS_CONTEXT || text.includes(MARK)) return [{ kind: "context", source: "hook", text }]
  if (HARNESS.test(text) || (kind !== undefined && kind !== "unknown")) return []
  return [TOLD.test(text) ? { kind: "notice", text } : { kind: "context", source: "codex", text }]
}

/* Calls. */

const callId = (item: JsonObject): string => stringOf(item["call_id"]) ?? stringOf(item["id"]) ?? ""

const call = (item: JsonObject, name: string, input: unknown): Part => ({
  kind: "toolUse",
  id: callId(item),
  name,
  input: isCodexShell(name)
    ? shellInput(objectOf(input))
    : name === "apply_patch"
      ? patchInput(input)
      : input,
})

/** Tools of servers have the names that they have everywhere, so that our own are known again. */
function nameOf(item: JsonObject): string {
  const name = stringOf(item["name"]) ?? ""
  const namespace = stringOf(item["namespace"])
  const whole = namespace === undefined ? name : `${namespace.replace(/__$/, "")}__${name}`
  return whole.includes("__") && !whole.startsWith("mcp__") ? `mcp__${whole}` : whole
}

/** JSON in a string, or words. */
function argumentsIn(value: unknown): unknown {
  if (typeof value !== "string") return value ?? {}
  return parseJson(value) ?? value
}

/** A script as it is typed, whatever field and form it has. */
function shellInput(fields: JsonObject): JsonObject {
  const { cmd, command = cmd, ...rest } = fields
  return { command: scriptIn(command), ...rest }
}

function scriptIn(command: unknown): unknown {
  if (!Array.isArray(command)) return command
  const words = listedStrings(command)
  const [shell = "", how = "", script] = words
  if (/(?:^|\/)(?:ba|z|da|k)?sh$/.test(shell) && /^-l?c$/.test(how) && script !== undefined) return script
  return words.map(shellWord).join(" ")
}

function patchInput(input: unknown): JsonObject {
  const text = typeof input === "string" ? input : (stringOf(objectOf(input)["input"]) ?? "")
  return { [PATCH]: text }
}

/* Outputs: text, JSON with text and exit status, or a list of texts and images. */

function resultParts(item: JsonObject): Part[] {
  const told = outputIn(item["output"])
  const { text, status, isFailed } = outcomeOf(told.text)
  const isError = told.isFailed || isFailed
  const media = (Array.isArray(item["output"]) ? item["output"] : []).map(objectOf).flatMap(mediaPart)
  const head = status === undefined || status === 0 ? "" : `Exit code ${status}\n`
  return [{ kind: "toolResult", id: callId(item), text: head + text, isError }, ...media]
}

function outputIn(output: unknown): { readonly text: string; readonly isFailed: boolean } {
  if (!isObject(output)) return { text: textsIn(output).join("\n"), isFailed: false }
  const content = output["content"] ?? output["text"]
  return { text: textsIn(content).join("\n"), isFailed: output["success"] === false }
}

interface Outcome {
  readonly text: string
  readonly status: number | undefined
  readonly isFailed: boolean
}

/** What precedes a command's output: some lines of figures, one of them its exit status. */
const FRAMED =
  /^((?:(?:Command|Chunk ID|Wall time|Process exited with code|Process running with session ID|Exit code|Original token count|Total output lines)\b[^\n]*\n)+)Output:\n?/
const STATUS = /^(?:Process exited with code|Exit code:) (-?\d{1,10})$/m
const RUNNING = /^Process running with session ID .*$/m
/** What Codex answers instead of executing a call. */
const NOT_DONE =
  /^(?:apply_patch verification failed|(?:exec_command|write_stdin|shell) failed\b|collab \w+ failed\b|failed to parse function arguments|unsupported call|execution error|tool call error|patch rejected|aborted by user\b)/

function outcomeOf(text: string): Outcome {
  const [frame, figures] = FRAMED.exec(text) ?? []
  if (frame !== undefined && figures !== undefined) {
    const status = statusIn(STATUS.exec(figures)?.[1])
    const running = RUNNING.exec(figures)?.[0]
    const output = text.slice(frame.length)
    const whole = running === undefined ? output : `${running}\n${output}`
    return { text: whole, status, isFailed: status !== undefined && status !== 0 }
  }
  const json = text.startsWith('{"output":') ? parseJson(text) : undefined
  const output = isObject(json) ? json["output"] : undefined
  if (typeof output === "string") {
    const code = objectOf((json as JsonObject)["metadata"])["exit_code"]
    const status = typeof code === "number" ? code : undefined
    return { text: output, status, isFailed: status !== undefined && status !== 0 }
  }
  return { text, status: undefined, isFailed: NOT_DONE.test(text) }
}

const statusIn = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : Number(digits)

function toolNames(tools: unknown): string {
  const groups = Array.isArray(tools) ? tools.map(objectOf) : []
  return groups
    .flatMap(({ name, tools: inner }) => [
      name,
      ...(Array.isArray(inner) ? inner.map((one) => objectOf(one)["name"]) : []),
    ])
    .filter((name) => typeof name === "string")
    .join("\n")
}

/* Images and sounds, as data URLs. */

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/

const dataUrl = (one: JsonObject): string | undefined =>
  [one["image_url"], one["audio_url"], one["file_data"]].find(
    (value): value is string => typeof value === "string" && DATA_URL.test(value),
  )

function mediaPart(one: JsonObject): Part[] {
  const url = dataUrl(one)
  const [head, mediaType] = DATA_URL.exec(url ?? "") ?? []
  if (url === undefined || head === undefined || mediaType === undefined) return []
  return [{ kind: "media", mediaType, base64Length: url.length - head.length }]
}

/** Their base64, in the item's order. */
function mediaIn(item: JsonObject): string[] {
  const content = [item["content"], item["output"]].find(Array.isArray) ?? []
  return content.map(objectOf).flatMap((one: JsonObject) => {
    const url = dataUrl(one)
    return url === undefined ? [] : [url.replace(DATA_URL, "")]
  })
}

/** The day in its name is that of its folder. */
const DAY = /^rollout-(\d{4})-(\d\d)-(\d\d)T/

export const codex: Agent = {
  name: NAME,
  title: TITLE,
  transcripts: codexTranscripts,
  isNamedAsTranscript: codexLayout.owns,
  placesOf: (name) => {
    const [, year, month, day] = DAY.exec(name) ?? []
    if (year === undefined) return undefined
    return { usual: `sessions/${year}/${month}/${day}/${name}`, aside: `archived_sessions/${name}` }
  },
  wrote: (line) => [LINE, FIRST_LINE, TYPED_LINE].some((form) => form.test(line.slice(0, 300))),
  decode: decodeRollout,
  partsOf: decodeRollout,
  promptHistory: (places) => `${codexFolder(places)}/history.jsonl`,
  historyPrompt: (text) => {
    const line = parseJson(text)
    return isObject(line) ? typedIn(line) : undefined
  },
  mediaData: (text) => {
    const line = parseLine(text)
    return isObject(line) ? mediaIn(objectOf(line["payload"])) : []
  },
  tools: CODEX_TOOLS,
  // As its `--help` says in 0.169.0.
  commandLine: {
    program: "codex",
    resume: (session) => ["resume", session],
    begin: (prompt) => [prompt],
    unarchive: (session) => ["unarchive", session],
    folderIn: "CODEX_HOME",
  },
}
