/**
 * Gemini CLI as one of the agents. A line of its sessions is a message with all that came of it, its calls and their
 * results, and is written again when more has come; or it says what has changed: `$set`, which may hold all messages
 * again, and `$rewindTo`. So a message, its calls and their results are records of their own, which count once. Read from
 * 0.40 to 0.61.
 */
import { isAbsolute, withSlashes } from "../../base/path.ts"
import type { Agent, AgentTool, TodoItem } from "../../record/agent.ts"
import { isObject, type JsonObject, listedStrings, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { MARK, withMarks } from "../../record/our-marks.ts"
import {
  type InnerRecord,
  type Part,
  plainRecord,
  type TranscriptRecord,
  type Usage,
} from "../../record/types.ts"
import {
  callPart,
  contentParts,
  GOOGLE_TOOLS,
  googleUsage,
  mediaIn,
  modelParts,
  promptTexts,
  resultParts,
} from "../google-content.ts"
import { geminiTranscripts, isGeminiTranscript } from "./gemini-places.ts"

const NAME = "gemini"
const TITLE = "Gemini CLI"

/** How its lines begin, and the objects within them that are records of their own. */
const LINE =
  /^\s*\{\s*(?:"\$(?:set|rewindTo)"\s*:|"sessionId"\s*:\s*"[^"]*"\s*,(?:\s*"projectHash"\s*:\s*"[^"]*"\s*,)?\s*"startTime"\s*:\s*"[^"]*"\s*,\s*"lastUpdated"\s*:|"id"\s*:\s*"[^"]*"\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"type"\s*:\s*"(?:user|gemini|model|info|error|warning)"|"id"\s*:\s*"[^"]*"\s*,\s*"name"\s*:\s*"[^"]*"\s*,\s*"args"\s*:|"functionResponse"\s*:)/

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeChat(text: string): TranscriptRecord {
  const line = parseLine(text)
  return isObject(line) ? decodeObject(line) : record("malformed", {}, [])
}

function decodeObject(line: JsonObject): TranscriptRecord {
  const type = stringOf(line["type"])
  if (isObject(line["$set"])) return changeOf(line["$set"])
  if (typeof line["$rewindTo"] === "string") return record("$rewindTo", line, [])
  if (type !== undefined) return messageRecord(line, type)
  if (stringOf(line["sessionId"]) !== undefined) return headRecord(line)
  if (isObject(line["functionResponse"]))
    return record("result", line, resultParts([line], { status: undefined }))
  return "args" in line ? callRecord(line) : record("unknown", line, [])
}

const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  timestamp: stringOf(line["timestamp"]),
})

/** A session's first line, which another one follows each time that it is continued. */
const headRecord = (line: JsonObject): TranscriptRecord => ({
  ...record("session", line, titleParts(line)),
  timestamp: stringOf(line["startTime"]),
  sessionId: stringOf(line["sessionId"]),
  cwd: absolute(listedStrings(line["directories"])[0]),
})

const absolute = (folder: string | undefined): string | undefined =>
  folder !== undefined && isAbsolute(folder) ? withSlashes(folder) : undefined

function titleParts(line: JsonObject): Part[] {
  const text = stringOf(line["summary"])
  return text === undefined ? [] : [{ kind: "title", text }]
}

/* Messages. */

function messageRecord(line: JsonObject, type: string): TranscriptRecord {
  const uuid = stringOf(line["id"])
  switch (type) {
    case "user": {
      const cwd = workspaceIn(line)
      return { ...record(type, line, cwd === undefined ? userParts(line) : []), uuid, cwd, once: true }
    }
    case "gemini":
    // In old documents.
    case "model":
      return { ...record(type, line, spoken(line)), uuid, once: true, inner: innerOf(line) }
    case "error":
    case "info":
    case "warning": {
      const text = promptTexts(line["content"]).join("\n")
      const kind = type === "error" ? "apiError" : "notice"
      return { ...record(type, line, text === "" ? [] : [{ kind, text }]), uuid, once: true }
    }
    default:
      return { ...record(type, line, []), uuid }
  }
}

/** What Gemini CLI begins a session with; it names the folder. */
const CONTEXT = /^\s*<session_context>/
const WORKSPACE = /^- \*\*Workspace Directories:\*\*\n {2}- (.+)$/m

function workspaceIn(line: JsonObject): string | undefined {
  const [text = ""] = promptTexts(line["content"])
  return CONTEXT.test(text) ? (absolute(WORKSPACE.exec(text)?.[1]) ?? "") || undefined : undefined
}

const [HOOKS, HOOKS_END] = ["<hook_context>", "</hook_context>"] as const
const SNAPSHOT = /<state_snapshot>[\s\S]*/

/** A text without what hooks have said, and that. */
function withoutHooks(text: string): { readonly own: string; readonly told: readonly string[] } {
  const told: string[] = []
  let own = ""
  for (let at = 0; ; ) {
    const from = text.indexOf(HOOKS, at)
    const to = from < 0 ? -1 : text.indexOf(HOOKS_END, from)
    if (to < 0) return { own: own + text.slice(at), told }
    told.push(text.slice(from + HOOKS.length, to))
    own += text.slice(at, from)
    at = to + HOOKS_END.length
    while (/\s/.test(text.charAt(at))) at++
  }
}

/** What was typed, what hooks have said with it, and the summary that stands for what was before. */
function userParts(line: JsonObject): Part[] {
  const texts = promptTexts(line["content"])
  const [summary] = texts.flatMap((text) => (text.trimStart().startsWith("<state_snapshot>") ? text : []))
  if (summary !== undefined) return compactionParts(summary)
  const hooks = texts.flatMap((text) => withoutHooks(text).told.map(withMarks))
  const shown = line["displayContent"] === undefined ? texts : promptTexts(line["displayContent"])
  const isOwn = (text: string): boolean =>
    text.trim() !== "" && !CONTEXT.test(text) && !text.trimStart().startsWith(MARK)
  const said = shown
    .map((text) => withoutHooks(text).own)
    .filter(isOwn)
    .join("\n")
  // The results of calls, and what hooks have said at their end, stand in the message that calls.
  return [
    ...(said === "" ? [] : [{ kind: "prompt", via: "typed", text: said } as const]),
    ...modelParts(line["content"]).filter(({ kind }) => kind === "media"),
    ...hooks.map((text): Part => ({ kind: "context", source: "hook", text })),
  ]
}

function compactionParts(text: string): Part[] {
  return [
    { kind: "boundary", trigger: "unknown", preTokens: undefined, postTokens: undefined, preserved: [] },
    { kind: "summary", text, by: TITLE },
  ]
}

/** Without calls, which have records of their own. */
function spoken(line: JsonObject): Part[] {
  const thoughts = Array.isArray(line["thoughts"]) ? line["thoughts"].map(objectOf) : []
  return [
    ...thoughts.flatMap((one): Part[] => {
      const text = [stringOf(one["subject"]), stringOf(one["description"])].filter(Boolean).join(": ")
      return text === "" ? [] : [{ kind: "thinking", text }]
    }),
    ...modelParts(line["content"] ?? line["parts"]).filter(({ kind }) => kind !== "toolUse"),
  ]
}

/** What came of a message: its tokens, its calls, their results. All were written at its time. */
function innerOf(line: JsonObject): InnerRecord[] {
  const { timestamp } = line
  const calls = Array.isArray(line["toolCalls"]) ? line["toolCalls"].filter(isObject) : []
  const tokens = objectOf(line["tokens"])
  const usage = usageIn(line, tokens)
  const inner: InnerRecord[] = []
  if (usage !== undefined)
    inner.push({ record: { ...record("tokens", line, []), usage }, json: JSON.stringify(tokens) })
  for (const call of calls) {
    const told = { timestamp, ...call }
    inner.push({ record: callRecord(told), json: JSON.stringify(call) })
    const id = stringOf(call["id"])
    for (const [n, one] of contentParts(call["result"]).entries()) {
      if (!isObject(one["functionResponse"])) continue
      const result = record("result", told, resultParts([one], { status: undefined }))
      // A call may have several. Without an id, nothing tells whether it is the same one again.
      const named = id !== undefined && { uuid: `${id} result${n === 0 ? "" : ` ${n}`}`, once: true as const }
      inner.push({ record: { ...result, ...named }, json: JSON.stringify(one) })
    }
  }
  return inner
}

/** Tools of servers have the names that they have everywhere, so that our own are known again. */
const SERVER = / \(([\w.-]+) MCP Server\)$/

function callRecord(call: JsonObject): TranscriptRecord {
  const name = stringOf(call["name"]) ?? ""
  const server = SERVER.exec(stringOf(call["displayName"]) ?? "")?.[1] ?? /^mcp_([^_]+)_/.exec(name)?.[1]
  const tool = server === undefined ? name : name.replace(`mcp_${server}_`, "").replace(`${server}__`, "")
  const whole = server === undefined ? name : `mcp__${server}__${tool}`
  const part = callPart({ ...call, name: whole })
  const uuid = stringOf(call["id"])
  return { ...record("call", call, [part]), uuid, ...(uuid !== undefined && { once: true }) }
}

function usageIn(line: JsonObject, tokens: JsonObject): Usage | undefined {
  return googleUsage(`${NAME} ${stringOf(line["id"])}`, stringOf(line["model"]), {
    input: tokens["input"],
    cached: tokens["cached"],
    output: tokens["output"],
    all: tokens["total"],
  })
}

/* Documents, which versions up to about 0.39 wrote. */

/** In them, nothing names the folder. */
const ROOT = "../.project_root"

function documentLines(
  text: string,
  _path: string,
  beside: (name: string) => string | undefined,
): JsonObject[] {
  const document = JSON.parse(text) as unknown
  if (!isObject(document) || !Array.isArray(document["messages"])) throw new Error("no session of Gemini CLI")
  const { sessionId, projectHash = "", startTime = "", summary, directories } = document
  const root = beside(ROOT)?.trim()
  const named = directories ?? (root === undefined ? undefined : [root])
  const head = { sessionId, projectHash, startTime, lastUpdated: startTime }
  return [
    { ...head, ...(named !== undefined && { directories: named }) },
    ...document["messages"]
      .filter(isObject)
      .map(({ id, timestamp, type, ...rest }) => ({ id, timestamp, type, ...rest })),
    ...(summary === undefined ? [] : [{ $set: { summary } }]),
  ]
}

/* Changes. */

/**
 * After a compaction, the messages that it has kept have new ids; all of them, and all that a session is continued with,
 * have been written before. So of such a list, only the summary is new.
 */
function changeOf(set: JsonObject): TranscriptRecord {
  const messages = Array.isArray(set["messages"]) ? set["messages"].filter(isObject) : []
  const summaries = messages.filter((one) => promptTexts(one["content"]).some((text) => SNAPSHOT.test(text)))
  const told = summaries.length > 0 ? summaries : messages
  const cwd = messages.map(workspaceIn).find((one) => one !== undefined)
  const directory = absolute(listedStrings(set["directories"])[0])
  return {
    ...record("$set", { timestamp: set["lastUpdated"] }, titleParts(set)),
    sessionId: stringOf(set["sessionId"]),
    cwd: cwd ?? directory,
    inner: told.flatMap((one) => [
      { record: messageRecord(one, stringOf(one["type"]) ?? "unknown"), json: JSON.stringify(one) },
      ...(one["type"] === "gemini" ? innerOf(one) : []),
    ]),
  }
}

/* What its tools do, and what of their input tells most. Read from 0.20 to 0.61. */

const agent: AgentTool = { kind: "agent", target: ["objective", "prompt", "agent_name"] }

const GEMINI_TOOLS: Readonly<Record<string, AgentTool>> = {
  ...GOOGLE_TOOLS,
  write_todos: { kind: "todo", target: steps, todos: planned },
  codebase_investigator: agent,
  delegate_to_agent: agent,
  invoke_agent: agent,
  activate_skill: { kind: "skill", target: ["name"] },
  ask_user: { kind: "ask" },
  exit_plan_mode: { kind: "plan", target: ["plan_path", "plan_filename"] },
}

function steps({ todos }: JsonObject): string | undefined {
  return Array.isArray(todos) ? `${todos.length} todos` : undefined
}

function planned({ todos }: JsonObject): TodoItem[] | undefined {
  if (!Array.isArray(todos)) return undefined
  return todos.map(objectOf).flatMap((one) => {
    const content = stringOf(one["description"])
    return content === undefined ? [] : [{ content, status: stringOf(one["status"]) ?? "pending" }]
  })
}

export const gemini: Agent = {
  name: NAME,
  title: TITLE,
  transcripts: geminiTranscripts,
  isNamedAsTranscript: isGeminiTranscript,
  wrote: (line) => LINE.test(line.slice(0, 500)),
  documentLines,
  decode: decodeChat,
  partsOf: decodeChat,
  mediaData: (text) => {
    const line = parseLine(text)
    return isObject(line) ? mediaIn(line["functionResponse"] === undefined ? line["content"] : [line]) : []
  },
  tools: GEMINI_TOOLS,
  // Its help speaks of a number in a list only, but 0.61 takes the id as well.
  commandLine: {
    program: "gemini",
    resume: (session) => ["--resume", session],
    begin: (prompt) => ["--prompt-interactive", prompt],
  },
}
