/**
 * GitHub's Copilot CLI as one of the agents. Its transcripts have a line for each event of a session, its subagents'
 * among them. Read from 1.0.102, whose schema of events names those of older versions, too.
 */
import { isAbsolute, withSlashes } from "../../base/path.ts"
import type { Agent, AgentTool, TaskChange, TodoItem } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { MARK } from "../../record/our-marks.ts"
import { tokenCount } from "../../record/token-counts.ts"
import {
  type Part,
  type PromptVia,
  plainRecord,
  type TranscriptRecord,
  type Usage,
} from "../../record/types.ts"
import { isCompaction } from "./copilot-hooks.ts"
import { copilotLayout, copilotTranscripts } from "./copilot-places.ts"

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

/** `parentId` names the line before, whatever that is: what was taken back is cut off in the file. */
const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  uuid: stringOf(line["id"]),
  timestamp: stringOf(line["timestamp"]),
  agentId: stringOf(line["agentId"]),
  sidechain: isSubagents(line),
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

/*
 * What its tools do, and what of their input tells most. Read from 1.0.102, with names that its schemas keep for older
 * versions; the inputs are as above.
 */

const run: AgentTool = { kind: "run", target: ["command"] }
const runOther: AgentTool = { kind: "run-other", target: ["command"] }
const edit: AgentTool = { kind: "edit", target: ["file_path", "path"] }
const shellWatch: AgentTool = { kind: "watch", target: ["shellId", "input"] }
const agentWatch: AgentTool = { kind: "watch", target: ["agent_id"] }
const search: AgentTool = { kind: "search", target: ["pattern"] }

const COPILOT_TOOLS: Readonly<Record<string, AgentTool>> = {
  bash: run,
  // What the user types behind `!`.
  local_shell: run,
  powershell: runOther,
  read_bash: shellWatch,
  write_bash: shellWatch,
  stop_bash: shellWatch,
  list_bash: shellWatch,
  read_powershell: shellWatch,
  write_powershell: shellWatch,
  stop_powershell: shellWatch,
  list_powershell: shellWatch,
  view: { kind: "read", target: ["file_path", "path"] },
  create: { kind: "write", target: ["file_path", "path"] },
  edit,
  str_replace: edit,
  insert: edit,
  grep: search,
  rg: search,
  glob: search,
  lsp: { kind: "search", target: ["operation", "file_path"] },
  web_fetch: { kind: "fetch", target: ["url", "prompt"] },
  web_search: { kind: "fetch", target: ["query"] },
  fetch_copilot_cli_documentation: { kind: "watch" },
  session_store_sql: { kind: "watch", target: ["description", "query"] },
  task: { kind: "agent", target: ["description", "prompt"] },
  read_agent: agentWatch,
  list_agents: { kind: "watch" },
  write_agent: { kind: "agent", target: ["message", "agent_id"] },
  sql: { kind: "todo", target: ["description", "query"], task: changedTodos },
  update_todo: { kind: "todo", target: counted, todos: checked },
  ask_user: { kind: "ask", target: ["message", "question"] },
  exit_plan_mode: { kind: "plan", target: ["summary"] },
  skill: { kind: "skill", target: ["skill", "name"] },
  task_complete: { kind: "watch", target: ["summary"] },
  report_intent: { kind: "watch", target: ["intent"] },
}

/** Whether its input names a file, whose fields `copilot.ts` brings into one form. */
const isAboutFile = (name: string): boolean => {
  const kind = Object.hasOwn(COPILOT_TOOLS, name) ? COPILOT_TOOLS[name]!.kind : undefined
  return kind === "read" || kind === "write" || kind === "edit"
}

const ITEM = /^\s*[-*] \[([ xX~])\] (.+)$/

/** A list in Markdown. */
function checked({ todos }: JsonObject): TodoItem[] | undefined {
  if (typeof todos !== "string") return undefined
  return todos.split("\n").flatMap((line) => {
    const [, mark, content] = ITEM.exec(line) ?? []
    if (mark === undefined || content === undefined) return []
    const status = mark === " " ? "pending" : mark === "~" ? "in_progress" : "completed"
    return [{ content: content.trim(), status }]
  })
}

function counted(fields: JsonObject): string | undefined {
  const items = checked(fields)
  return items === undefined ? stringOf(fields["todos"]) : `${items.length} todos`
}

/* The todos of a session are rows of a table, which its model writes itself. */

const TEXT = "'(?:[^']|'')*'"
const INSERT = /^\s*insert\s+(?:or\s+\w+\s+)?into\s+todos\s*\(([\w\s,]+)\)\s*values\s*([\s\S]+)$/i
const UPDATE = new RegExp(
  String.raw`^\s*update\s+todos\s+set\s+([\s\S]+?)\s+where\s+id\s*(?:=|in)\s*(\(?\s*${TEXT}(?:\s*,\s*${TEXT})*\s*\)?)\s*$`,
  "i",
)
const DELETE = new RegExp(
  String.raw`^\s*delete\s+from\s+todos\s+where\s+id\s*(?:=|in)\s*(\(?\s*${TEXT}(?:\s*,\s*${TEXT})*\s*\)?)\s*$`,
  "i",
)
/** A statement, without what ends it. */
const STATEMENT = new RegExp(`(?:${TEXT}|[^;'])+`, "g")
const ROW = new RegExp(String.raw`\(((?:${TEXT}|[^()'])*)\)`, "g")
const VALUE = new RegExp(String.raw`${TEXT}|[^,'\s]+`, "g")
const SET = new RegExp(String.raw`(\w+)\s*=\s*(${TEXT})`, "g")

const wordsOf = (list: string): string[] => (list.match(VALUE) ?? []).map(unquoted)
const idsIn = (list: string): string[] => (list.match(new RegExp(TEXT, "g")) ?? []).map(unquoted)

function unquoted(value: string): string {
  return value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'") : value
}

/** In words that everybody has for it. */
const statusOf = (status: string | undefined): string | undefined =>
  status === "done" ? "completed" : status

/** A longer one is no list that anybody works through. */
const LONGEST = 20_000

/** Of statements that name each todo by its id; others may change any. */
function changedTodos({ query }: JsonObject): TaskChange[] {
  if (typeof query !== "string" || query.length > LONGEST || !/\btodos\b/i.test(query)) return []
  return (query.match(STATEMENT) ?? []).flatMap((statement) => {
    const [, columns, rows] = INSERT.exec(statement) ?? []
    if (columns !== undefined && rows !== undefined) {
      const names = columns.split(",").map((name) => name.trim().toLowerCase())
      return [...rows.matchAll(ROW)].flatMap(([, row]) => inserted(names, wordsOf(row ?? "")))
    }
    const [, set, updated] = UPDATE.exec(statement) ?? []
    if (set !== undefined && updated !== undefined) {
      const values = Object.fromEntries(
        [...set.matchAll(SET)].map(([, name, value]) => [name, unquoted(value!)]),
      )
      return idsIn(updated).map((id) => change({ id }, values["title"], values["status"]))
    }
    const [, deleted] = DELETE.exec(statement) ?? []
    return deleted === undefined ? [] : idsIn(deleted).map((id) => ({ id, status: "deleted" }))
  })
}

function inserted(names: readonly string[], values: readonly string[]): TaskChange[] {
  const named = (name: string): string | undefined => values[names.indexOf(name)]
  const id = named("id")
  return id === undefined ? [] : [change({ id, isNew: true }, named("title"), named("status"))]
}

const change = (
  which: Pick<TaskChange, "id" | "isNew">,
  subject: string | undefined,
  status: string | undefined,
): TaskChange => ({
  ...which,
  ...(subject !== undefined && { subject }),
  ...(status !== undefined && { status: statusOf(status)! }),
})

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
  // As its `--help` says in 1.0.102.
  commandLine: {
    program: "copilot",
    resume: (session) => ["--resume", session],
    begin: (prompt) => ["--interactive", prompt],
    folderIn: "COPILOT_HOME",
  },
}
