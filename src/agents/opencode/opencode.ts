/**
 * opencode as one of the agents. What it keeps are rows; the lines that are decoded here are made of them
 * (opencode-lines.ts). Read from 1.18.33, and from files of older versions; opencode 2 from a preview, and as others
 * describe it.
 */
import type { Agent, AgentTool, TodoItem } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { MARK, withoutHandoff } from "../../record/our-marks.ts"
import { tokenCount } from "../../record/token-counts.ts"
import { type Part, plainRecord, type TranscriptRecord, type Usage } from "../../record/types.ts"
import { CODEX_TOOLS, PATCH } from "../codex/codex-tools.ts"
import { typedWords } from "./opencode-lines.ts"
import { opencodeFolders, opencodeSession } from "./opencode-places.ts"

const NAME = "opencode"

/** No other agent's line begins so. */
const LINE = /^\{"opencode":"/

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeOpencode(text: string): TranscriptRecord {
  const line = parseLine(text)
  return isObject(line) ? decodeObject(line) : record("malformed", {}, [])
}

function decodeObject(line: JsonObject): TranscriptRecord {
  const kind = stringOf(line["opencode"]) ?? "unknown"
  const data = objectOf(line["data"])
  if (kind === "session") return { ...record(kind, line, titleIn(data)), ...aboutSession(line, data) }
  const type = kind === "part" ? `part/${stringOf(data["type"]) ?? "unknown"}` : kind
  // What was told first stays: later, opencode takes back outputs, and repeats what it has counted. Where that was a
  // half, the first line of the whole says so instead.
  if (line["again"] === true) return record(type, line, [])
  const uuid = keptName(line, data, type)
  switch (kind) {
    case "part": {
      const parts = partParts(line, data)
      const said = parts.some((part) => part.kind === "prompt") ? { promptSource: "typed" } : {}
      return { ...record(type, line, parts), uuid, ...said, usage: stepUsage(line, data) }
    }
    case "call":
      return { ...record(type, line, [callIn(line, data)]), uuid }
    case "result":
      return { ...record(type, line, resultParts(line, data)), uuid }
    case "message":
      return { ...record(type, line, endParts(data)), uuid, usage: messageUsage(line, data) }
    default:
      return record(type, line, [])
  }
}

/* Names. A fork copies messages and their parts under new ids, so what they hold names them where it can. */

/** Of a line: when its message and it began, which are ms of opencode's and in no other message. */
function keptName(line: JsonObject, data: JsonObject, type: string): string | undefined {
  const { created } = line
  if (typeof created !== "number") return stringOf(line["row"])
  if (type === "call" || type === "result") return `${type} ${callId(line, data)}`
  const { start = data["index"] } = objectOf(data["time"])
  return `${NAME} ${created} ${type}${typeof start === "number" ? ` ${start}` : ""}`
}

/** Servers of models may count their calls anew in each message. */
function callId(line: JsonObject, data: JsonObject): string {
  const { created } = line
  const { callID, tool } = data
  return typeof created === "number" && typeof callID === "string"
    ? `${created} ${callID} ${tool}`
    : (stringOf(line["row"]) ?? "").replace(/ result$/, "")
}

const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  timestamp: stringOf(line["time"]),
  sessionId: stringOf(line["session"]),
})

/** What a session is called until its model has named it. */
const UNNAMED = /^(?:New|Child) session - \d{4}-/

function titleIn(data: JsonObject): Part[] {
  const text = stringOf(data["title"])
  return text === undefined || UNNAMED.test(text) ? [] : [{ kind: "title", text }]
}

function aboutSession(line: JsonObject, data: JsonObject): Partial<TranscriptRecord> {
  const parent = stringOf(data["parent_id"]) ?? stringOf(data["parentID"])
  const spawned =
    parent === undefined ? {} : { spawned: { parent, name: stringOf(data["agent"]) ?? "subagent" } }
  return { cwd: stringOf(line["cwd"]), version: stringOf(data["version"]), ...spawned }
}

/* What is said. */

function partParts(line: JsonObject, data: JsonObject): Part[] {
  const text = stringOf(data["text"])
  const isUsers = line["role"] === "user"
  switch (data["type"]) {
    case "text":
      if (text === undefined || text.trim() === "") return []
      return isUsers ? userParts(text, data) : line["isSummary"] === true ? summaryParts(text) : said(text)
    case "reasoning":
      return text === undefined || text.trim() === "" ? [] : [{ kind: "thinking", text }]
    case "file":
      return mediaIn(data)
    case "subtask": {
      const [command, prompt] = [stringOf(data["command"]), stringOf(data["prompt"])]
      const words = [command === undefined ? undefined : `/${command}`, prompt].filter(
        (one) => one !== undefined,
      )
      return words.length === 0 ? [] : [{ kind: "prompt", via: "command", text: words.join(" ") }]
    }
    case "compaction":
      return [
        {
          kind: "boundary",
          trigger: data["auto"] === true ? "auto" : data["auto"] === false ? "manual" : "unknown",
          preTokens: undefined,
          postTokens: undefined,
          preserved: [],
        },
      ]
    case "retry":
      return errorParts(data["error"])
    default:
      return []
  }
}

/** Files and outputs that opencode quotes, and what it says itself, are marked as its own. */
function userParts(text: string, data: JsonObject): Part[] {
  // A summary of another session's that the user sends is told apart from their words for all agents.
  const isHandoff = withoutHandoff(text) !== text
  if (text.trimStart().startsWith(MARK) && !isHandoff) return [{ kind: "context", source: "hook", text }]
  if (objectOf(data["metadata"])["compaction_continue"] === true) return [{ kind: "notice", text }]
  if (data["synthetic"] === true || data["ignored"] === true) return [{ kind: "context", source: NAME, text }]
  return [{ kind: "prompt", via: "typed", text: typedWords(text) }]
}

const said = (text: string): Part[] =>
  apart(text).map(({ isOurs, words }) =>
    isOurs ? { kind: "context", source: "hook", text: words } : { kind: "text", text: words },
  )

const summaryParts = (text: string): Part[] =>
  apart(text).map(({ isOurs, words }) =>
    isOurs ? { kind: "context", source: "hook", text: words } : { kind: "summary", text: words, by: NAME },
  )

/** The model's words, and what we have added to them. */
function apart(text: string): { readonly isOurs: boolean; readonly words: string }[] {
  const at = text.indexOf(MARK)
  const pieces = at < 0 ? [text] : [text.slice(0, at), text.slice(at)]
  return pieces.flatMap((words, n) => (words.trim() === "" ? [] : [{ isOurs: n > 0, words: words.trim() }]))
}

/** How a message of the model's ended, if not well. */
const endParts = (data: JsonObject): Part[] => errorParts(data["error"])

function errorParts(error: unknown): Part[] {
  if (!isObject(error)) return []
  const text =
    stringOf(objectOf(error["data"])["message"]) ?? stringOf(error["message"]) ?? stringOf(error["name"])
  if (text === undefined) return []
  const isStopped = error["name"] === "MessageAbortedError" || error["type"] === "aborted"
  return [isStopped ? { kind: "interrupt", text } : { kind: "apiError", text }]
}

/* Tokens: of each step of a message, or of the whole where no steps are told. */

const stepUsage = (line: JsonObject, data: JsonObject): Usage | undefined =>
  data["type"] === "step-finish" ? usageIn(line, data) : undefined

const messageUsage = (line: JsonObject, data: JsonObject): Usage | undefined =>
  line["hasSteps"] === true || line["role"] !== "assistant" ? undefined : usageIn(line, data)

function usageIn(line: JsonObject, data: JsonObject): Usage | undefined {
  const tokens = objectOf(data["tokens"])
  const cache = objectOf(tokens["cache"])
  const counts = {
    input: tokenCount(tokens["input"]),
    // What the model thinks is paid for like what it says.
    output: tokenCount(tokens["output"]) + tokenCount(tokens["reasoning"]),
    cacheCreation: tokenCount(cache["write"]),
    cacheRead: tokenCount(cache["read"]),
  }
  if (Object.values(counts).every((count) => count === 0)) return undefined
  return {
    messageId: `${NAME} ${line["row"]}`,
    model: stringOf(line["model"]) ?? "",
    ...counts,
    cacheHour: 0,
  }
}

/* Calls. */

function callIn(line: JsonObject, data: JsonObject): Part {
  const name = nameOf(stringOf(data["tool"]) ?? "")
  return {
    kind: "toolUse",
    id: callId(line, data),
    name,
    input: inputOf(name, objectOf(data["state"])["input"]),
  }
}

/** Tools of servers have the names that they have everywhere, so that our own are known again. */
function nameOf(tool: string): string {
  if (Object.hasOwn(OPENCODE_TOOLS, tool) || tool === "") return tool
  const [, server, name] = /^([^_]+)_(.+)$/.exec(tool) ?? []
  return `mcp__${server ?? "plugin"}__${name ?? tool}`
}

/** Names of fields as other agents have them. */
const FIELDS: Readonly<Record<string, string>> = {
  filePath: "file_path",
  oldString: "old_string",
  newString: "new_string",
  replaceAll: "replace_all",
  patchText: PATCH,
}

function inputOf(name: string, input: unknown): unknown {
  if (!isObject(input) || name.startsWith("mcp__")) return input ?? {}
  const renamed = (fields: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [FIELDS[key] ?? key, value]))
  const fields = renamed(input)
  const { edits } = fields
  return Array.isArray(edits)
    ? { ...fields, edits: edits.map((one) => (isObject(one) ? renamed(one) : one)) }
    : fields
}

function resultParts(line: JsonObject, data: JsonObject): Part[] {
  const state = objectOf(data["state"])
  const id = callId(line, data)
  const attached = Array.isArray(state["attachments"]) ? state["attachments"].filter(isObject) : []
  const media = attached.flatMap(mediaIn)
  if (state["status"] === "error")
    return [{ kind: "toolResult", id, text: stringOf(state["error"]) ?? "", isError: true }, ...media]
  const output = stringOf(state["output"]) ?? ""
  const { exit } = objectOf(state["metadata"])
  const isCommand = data["tool"] === "bash" || data["tool"] === "shell"
  const isError = isCommand && typeof exit === "number" && exit !== 0
  const text = isError ? `Exit code ${exit}\n${output}` : output
  return [{ kind: "toolResult", id, text, isError }, ...media]
}

/* Images and documents, as data URLs. */

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/

function mediaIn({ url }: JsonObject): Part[] {
  const [head, mediaType] = (typeof url === "string" ? DATA_URL.exec(url) : null) ?? []
  if (head === undefined || mediaType === undefined) return []
  return [{ kind: "media", mediaType, base64Length: (url as string).length - head.length }]
}

function mediaData(text: string): string[] {
  const line = parseLine(text)
  const data = isObject(line) ? objectOf(line["data"]) : {}
  const attached = objectOf(data["state"])["attachments"]
  const all = [data, ...(Array.isArray(attached) ? attached.filter(isObject) : [])]
  return all.flatMap(({ url }) =>
    typeof url === "string" && DATA_URL.test(url) ? [url.replace(DATA_URL, "")] : [],
  )
}

/* What its tools do, and what of their input tells most: as they are above. */

const file = ["file_path", "path"]
const todo: AgentTool = { kind: "todo", target: counted, todos: listed }

const OPENCODE_TOOLS: Readonly<Record<string, AgentTool>> = {
  bash: { kind: "run", target: ["command"] },
  shell: { kind: "run", target: ["command"] },
  read: { kind: "read", target: file },
  write: { kind: "write", target: file },
  edit: { kind: "edit", target: file },
  multiedit: { kind: "edit", target: file },
  // The same patches as Codex'.
  patch: CODEX_TOOLS["apply_patch"]!,
  apply_patch: CODEX_TOOLS["apply_patch"]!,
  glob: { kind: "search", target: ["pattern"] },
  grep: { kind: "search", target: ["pattern"] },
  list: { kind: "search", target: ["path"] },
  codesearch: { kind: "fetch", target: ["query"] },
  webfetch: { kind: "fetch", target: ["url"] },
  websearch: { kind: "fetch", target: ["query"] },
  task: { kind: "agent", target: ["description", "prompt"] },
  subagent: { kind: "agent", target: ["description", "prompt"] },
  todowrite: todo,
  todoread: { kind: "watch" },
  question: { kind: "ask" },
  skill: { kind: "skill", target: ["name", "id"] },
  lsp: { kind: "search", target: ["operation", "file_path"] },
  plan_enter: { kind: "plan" },
  plan_exit: { kind: "plan" },
  // A call that could not be understood.
  invalid: { kind: "watch", target: ["error", "tool"] },
}

function counted({ todos }: JsonObject): string | undefined {
  return Array.isArray(todos) ? `${todos.length} todos` : undefined
}

function listed({ todos }: JsonObject): TodoItem[] | undefined {
  if (!Array.isArray(todos)) return undefined
  return todos.filter(isObject).flatMap((one) => {
    const content = stringOf(one["content"])
    return content === undefined ? [] : [{ content, status: stringOf(one["status"]) ?? "pending" }]
  })
}

export const opencode: Agent = {
  name: NAME,
  title: NAME,
  transcripts: opencodeFolders,
  isNamedAsTranscript: (path) => opencodeSession(path) !== undefined,
  wrote: (line) => LINE.test(line),
  decode: decodeOpencode,
  partsOf: decodeOpencode,
  mediaData,
  tools: OPENCODE_TOOLS,
  // As its `--help` says in 1.18.33.
  commandLine: {
    program: "opencode",
    resume: (session) => ["--session", session],
    begin: (prompt) => ["--prompt", prompt],
  },
}
