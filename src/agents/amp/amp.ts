/**
 * Amp as one of the agents: threads that it kept as documents until March 2026, and those that plugins write in the same
 * form. Later ones are on its servers. As others describe it; the program itself was not tried.
 */
import { isAbsolute, withSlashes } from "../../base/path.ts"
import type { Agent, AgentTool } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { tokensIn } from "../../record/token-counts.ts"
import { type Part, plainRecord, type TranscriptRecord, type Usage } from "../../record/types.ts"
import { blockMedia, contentBlocks, modelBlocks, userBlocks } from "../block-content.ts"
import { ampThreads, isAmpThread } from "./amp-places.ts"

const NAME = "amp"

/** Lines of a thread, as they are made here: its beginning, and its messages. */
const LINE = /^\s*\{\s*"amp"\s*:\s*"(?:thread|message)"/

/** Those of its tools that others do not have, too. */
const TOOLS: Readonly<Record<string, AgentTool>> = {
  edit_file: { kind: "edit", target: ["path"] },
  create_file: { kind: "write", target: ["path"] },
  read_web_page: { kind: "fetch", target: ["url"] },
  finder: { kind: "search", target: ["query"] },
  oracle: { kind: "agent", target: ["task"] },
}

function documentLines(text: string): JsonObject[] {
  const thread = JSON.parse(text) as unknown
  if (!isObject(thread) || !Array.isArray(thread["messages"])) throw new Error("no thread of Amp")
  const { id, title, created } = thread
  return [
    { amp: "thread", id, title, created, cwd: folderIn(thread) },
    ...thread["messages"]
      .filter(isObject)
      .map((message, n) => ({ amp: "message", row: `${stringOf(id)}-${n}`, ...message })),
  ]
}

/** The first of the folders that a thread began with. */
function folderIn(thread: JsonObject): string | undefined {
  const { trees } = objectOf(objectOf(thread["env"])["initial"])
  const uri = stringOf(objectOf(Array.isArray(trees) ? trees[0] : undefined)["uri"])
  if (uri?.startsWith("file://") !== true) return undefined
  const folder = withSlashes(decodeURIComponent(uri.slice("file://".length)).replace(/^\/(?=[A-Za-z]:)/, ""))
  return isAbsolute(folder) ? folder : undefined
}

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeLine(text: string): TranscriptRecord {
  const line = parseLine(text)
  if (!isObject(line)) return record("malformed", {}, [])
  if (line["amp"] === "thread") return threadRecord(line)
  const content = contentBlocks(line["content"]).map(asResult)
  if (line["role"] === "user") return record("user", line, userBlocks(content))
  if (line["role"] !== "assistant") return record("message", line, [])
  return { ...record("assistant", line, modelBlocks(content, asKnown)), usage: usageIn(line) }
}

const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  uuid: stringOf(line["row"]),
  timestamp: timeOf(objectOf(line["meta"])["sentAt"]) ?? timeOf(objectOf(line["usage"])["timestamp"]),
})

const threadRecord = (line: JsonObject): TranscriptRecord => {
  const title = stringOf(line["title"])
  return {
    ...record("thread", line, title === undefined ? [] : [{ kind: "title", text: title }]),
    timestamp: timeOf(line["created"]),
    sessionId: stringOf(line["id"]),
    cwd: stringOf(line["cwd"]),
  }
}

/** ms since the epoch, or a date in words. */
function timeOf(value: unknown): string | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : value
  return typeof ms === "number" && Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined
}

function usageIn(line: JsonObject): Usage | undefined {
  const told = objectOf(line["usage"])
  const counts = tokensIn({
    input_tokens: told["inputTokens"],
    output_tokens: told["outputTokens"],
    cache_creation_input_tokens: told["cacheCreationInputTokens"],
    cache_read_input_tokens: told["cacheReadInputTokens"],
  })
  if (counts.input + counts.output === 0) return undefined
  return {
    ...counts,
    messageId: `${NAME} ${stringOf(line["row"])}`,
    model: stringOf(told["model"]) ?? "",
    cacheHour: 0,
  }
}

/** A result names its call, and has how that ended, in fields of its own. */
function asResult(block: JsonObject): JsonObject {
  if (block["type"] !== "tool_result") return block
  const { status, result, error } = objectOf(block["run"])
  const told = objectOf(result)
  const code = typeof told["exitCode"] === "number" && told["exitCode"] > 0 ? told["exitCode"] : undefined
  const output =
    stringOf(result) ??
    stringOf(told["output"]) ??
    stringOf(objectOf(error)["message"]) ??
    stringOf(error) ??
    ""
  const isError = code !== undefined || /^(?:error|rejected-by-user|cancelled)$/.test(stringOf(status) ?? "")
  return {
    type: "tool_result",
    tool_use_id: block["toolUseID"] ?? block["tool_use_id"],
    content: (code === undefined ? "" : `Exit code ${code}\n`) + output,
    is_error: isError,
  }
}

/** A command, and what an edit replaces, are in fields of other names. */
function asKnown(_name: string, { cmd, old_str, new_str, ...fields }: JsonObject): JsonObject {
  return {
    ...(cmd !== undefined && { command: cmd }),
    ...fields,
    ...(old_str !== undefined && { old_string: old_str }),
    ...(new_str !== undefined && { new_string: new_str }),
  }
}

export const amp: Agent = {
  name: NAME,
  title: "Amp",
  isUntried: true,
  transcripts: ampThreads,
  isNamedAsTranscript: isAmpThread,
  documentLines,
  wrote: (line) => LINE.test(line.slice(0, 40)),
  decode: decodeLine,
  partsOf: decodeLine,
  mediaData: (text) => {
    const line = parseLine(text)
    return isObject(line) ? blockMedia(line["content"]) : []
  },
  tools: TOOLS,
}
