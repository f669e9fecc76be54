/** Claude Code as one of the agents. It is the last that is asked: what no other wrote is its own. */
import { parseJson } from "../base/json-files.ts"
import { isAbsolute, withSlashes } from "../base/path.ts"
import type { Agent, AgentTool, HistoryPrompt, TaskChange, TodoItem } from "../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../record/json.ts"
import { tokenCount, tokensIn } from "../record/token-counts.ts"
import type { ClaudeResult, Part, TranscriptRecord, Usage } from "../record/types.ts"
import { assistantParts, mediaData, textsOf, userParts } from "./content.ts"
import { messageUsage, SYNTHETIC } from "./glance.ts"
import { liesAsTranscript, PROMPT_HISTORY, transcriptsFolder } from "./places.ts"
import { isBuiltInCommand, queuedTextParts, type Speaker, userTextParts } from "./user-text.ts"

/* What Claude Code's tools do, and what of their input tells most. Read from 1.0.51 to 2.1.330. */

/** Fields that name the file a call is about. */
const FILE_FIELDS = ["file_path", "notebook_path", "path"] as const

export const CLAUDE_CODE_TOOLS: Readonly<Record<string, AgentTool>> = {
  Bash: { kind: "run", target: ["command"] },
  PowerShell: { kind: "run-other", target: ["command"] },
  Monitor: { kind: "watch", target: ["command", "description"] },
  BashOutput: { kind: "watch", target: ["bash_id"] },
  KillShell: { kind: "watch", target: ["shell_id"] },
  TaskOutput: { kind: "watch", target: ["task_id"] },
  TaskStop: { kind: "watch", target: ["task_id"] },
  Read: { kind: "read", target: FILE_FIELDS },
  NotebookRead: { kind: "read", target: FILE_FIELDS },
  Write: { kind: "write", target: FILE_FIELDS },
  Edit: { kind: "edit", target: FILE_FIELDS },
  MultiEdit: { kind: "edit", target: FILE_FIELDS },
  NotebookEdit: { kind: "edit", target: FILE_FIELDS },
  LS: { kind: "search", target: ["path"] },
  Grep: { kind: "search", target: patternAndPath },
  Glob: { kind: "search", target: patternAndPath },
  ToolSearch: { kind: "search-tools", target: ["query"] },
  WebFetch: { kind: "fetch", target: ["url"] },
  WebSearch: { kind: "fetch", target: ["query"] },
  // At the API.
  web_fetch: { kind: "fetch" },
  web_search: { kind: "fetch" },
  Task: { kind: "agent", target: ["description", "prompt"] },
  Agent: { kind: "agent", target: ["description", "prompt"] },
  AgentOutputTool: { kind: "agent" },
  TodoWrite: {
    kind: "todo",
    target: ({ todos }) => (Array.isArray(todos) ? `${todos.length} todos` : undefined),
    todos: todosIn,
  },
  TaskCreate: { kind: "todo", target: ["subject", "description"], task: newTask },
  TaskUpdate: { kind: "todo", target: taskAndStatus, task: changedTask },
  AskUserQuestion: { kind: "ask", target: firstQuestion },
  ExitPlanMode: { kind: "plan", target: ["plan"] },
  Skill: { kind: "skill", target: skillAndArguments },
}

function patternAndPath(fields: JsonObject): string | undefined {
  const pattern = stringOf(fields["pattern"])
  const path = stringOf(fields["path"])
  return pattern !== undefined && path !== undefined ? `${pattern} in ${path}` : pattern
}

function skillAndArguments(fields: JsonObject): string | undefined {
  const skill = stringOf(fields["skill"]) ?? stringOf(fields["command"])
  return skill && [skill, stringOf(fields["args"])].filter(Boolean).join(" ")
}

function firstQuestion({ questions }: JsonObject): string | undefined {
  return Array.isArray(questions) ? stringOf(objectOf(questions[0])["question"]) : undefined
}

function taskAndStatus(fields: JsonObject): string | undefined {
  const { id, status } = changedTask(fields)
  return id === undefined ? undefined : [`#${id}`, status].filter(Boolean).join(" ")
}

function newTask(fields: JsonObject): TaskChange {
  const subject = stringOf(fields["subject"])
  return { ...(subject && { subject }), status: "pending" }
}

function changedTask(fields: JsonObject): TaskChange {
  const { taskId } = fields
  const id = typeof taskId === "number" ? String(taskId) : stringOf(taskId)
  const [subject, status] = [stringOf(fields["subject"]), stringOf(fields["status"])]
  return { ...(id && { id }), ...(subject && { subject }), ...(status && { status }) }
}

function todosIn({ todos }: JsonObject): TodoItem[] | undefined {
  if (!Array.isArray(todos)) return undefined
  return todos.flatMap((todo: unknown) => {
    const content = isObject(todo) ? stringOf(todo["content"]) : stringOf(todo)
    return content === undefined ? [] : [{ content, status: stringOf(objectOf(todo)["status"]) ?? "pending" }]
  })
}

/*
 * `history.jsonl` beside the transcripts: every prompt that was typed, of all projects, also of sessions whose transcripts
 * Claude Code has deleted. Pure.
 */

/** A session's id, as Claude Code makes them and as nothing else may be one. */
const SESSION = /^[A-Za-z0-9][\w.-]{0,127}$/
const LATEST = 8.64e15
/** Where something was pasted; longer pastes are in a file of their own. */
const PASTED = /\[Pasted text #(\d+)(?: \+\d+ lines?)?\]/g

/** undefined if the line is none. */
function promptIn(line: JsonObject): HistoryPrompt | undefined {
  const { display, timestamp, project, sessionId } = line
  if (typeof display !== "string" || typeof timestamp !== "number" || line["type"] !== undefined)
    return undefined
  if (!(Math.abs(timestamp) <= LATEST)) return undefined
  const text = pastedInto(display, objectOf(line["pastedContents"])).trim()
  const [, command] = /^\/([\w-]+)$/.exec(text) ?? []
  const time = new Date(timestamp).toISOString()
  const named = stringOf(sessionId)
  const folder = stringOf(project)
  return {
    session: named !== undefined && SESSION.test(named) ? named : dayOf(folder, time),
    text: command !== undefined && isBuiltInCommand(command) ? "" : text,
    time,
    project: folder !== undefined && isAbsolute(folder) ? withSlashes(folder) : undefined,
  }
}

function dayOf(project: string | undefined, time: string): string {
  const day = time.slice(0, 10)
  const hash = Bun.hash
    .xxHash64(`${project ?? ""} ${day}`, 0n)
    .toString(16)
    .padStart(16, "0")
  return `${hash.slice(0, 8)}-${day}`
}

/** A placeholder that names nothing kept here stays. */
const pastedInto = (display: string, pasted: JsonObject): string =>
  display.replaceAll(PASTED, (placeholder, id: string) => {
    const { type, content } = objectOf(pasted[id])
    return type === "text" && typeof content === "string" ? content : placeholder
  })

/*
 * Decodes one line of a transcript. The only place that knows Claude Code's wire format.
 *
 * Runs in hooks on every new line: one JSON.parse, and nothing costlier on long strings than searching for a word.
 */

const NO_ANSWER_WANTED = "No response requested."

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeRecord(line: string): TranscriptRecord {
  const value = parseLine(line)
  return isObject(value) ? decodeObject(value) : record("malformed", {}, false, [], undefined)
}

/** A line's uuid and parts, as from `decodeRecord`, but with a few calls instead of tens: for showing just some lines. */
function partsOf(line: string): Pick<TranscriptRecord, "uuid" | "parts"> {
  const value = parseLine(line)
  if (!isObject(value)) return { uuid: undefined, parts: [] }
  const type = value["type"]
  if (type !== "user" && type !== "assistant") return decodeObject(value)
  const speaker = speakerOf(value, value["isSidechain"] === true)
  return { uuid: stringOf(value["uuid"]), parts: messageParts(type, value, speaker) }
}

function decodeObject(line: JsonObject): TranscriptRecord {
  const type = typeOf(line)
  const sidechain = line["isSidechain"] === true
  const speaker = speakerOf(line, sidechain)
  switch (type) {
    case "user":
    case "assistant":
      return record(type, line, sidechain, messageParts(type, line, speaker), messageUsage(type, line))
    case "system":
      return record(subtyped(type, line["subtype"]), line, sidechain, systemParts(line, speaker), undefined)
    case "attachment": {
      const attachment = objectOf(line["attachment"])
      const parts = attachmentParts(attachment, speaker)
      return record(subtyped(type, attachment["type"]), line, sidechain, parts, undefined)
    }
    case "queue-operation":
      return record(subtyped(type, line["operation"]), line, sidechain, queueParts(line), undefined)
    case "progress":
      return decodeProgress(line, sidechain)
    case "ctxbridge-note":
      // It follows no line, but the session in which it was kept.
      return {
        ...record(type, line, sidechain, noteParts(line), undefined),
        parentUuid: stringOf(line["keptIn"]),
      }
    case "summary":
    case "custom-title":
    case "ai-title":
      return record(type, line, sidechain, titleParts(line), undefined)
    case "result":
    case "cost-state":
      return {
        ...record(subtyped(type, line["subtype"]), line, sidechain, [], undefined),
        result: resultIn(type, line),
      }
    case "unknown":
      return decodeHistory(line) ?? record(type, line, sidechain, [], undefined)
    default:
      return record(subtyped(type, line["subtype"]), line, sidechain, [], undefined)
  }
}

/** A line of the prompts' history. Nothing else tells what became of the prompt, so it counts as imported. */
function decodeHistory(line: JsonObject): TranscriptRecord | undefined {
  const prompt = promptIn(line)
  if (prompt === undefined) return undefined
  const { session, time, project, text } = prompt
  const parts: Part[] = text === "" ? [] : [{ kind: "prompt", via: "history", text }]
  return {
    ...record("user", line, false, parts, undefined),
    timestamp: time,
    sessionId: session,
    cwd: project,
    imported: true,
  }
}

/** A line of our own with what the model wanted kept (views/kept-notes.ts). */
function noteParts(line: JsonObject): Part[] {
  const text = stringOf(line["text"])
  // One that was taken back is filled.
  return text === undefined || /^\**$/.test(text) ? [] : [{ kind: "brief", text }]
}

/** A subagent's message wrapped into a line of its parent. The line keeps its own place (uuid, parent). */
function decodeProgress(line: JsonObject, sidechain: boolean): TranscriptRecord {
  const data = objectOf(line["data"])
  const type = subtyped("progress", data["type"])
  const message = data["message"]
  if (data["type"] !== "agent_progress" || !isObject(message))
    return record(type, line, sidechain, [], undefined)
  // Some clients put the bare API message there, without an envelope.
  const inner = message["message"] === undefined ? { type: message["role"], message } : message
  const role = typeOf(inner)
  const agent = { ...inner, ...line, agentId: data["agentId"] ?? inner["agentId"] ?? line["agentId"] }
  if (role !== "user" && role !== "assistant") return record(type, agent, true, [], undefined)
  return record(
    type,
    agent,
    true,
    messageParts(role, inner, speakerOf(inner, true)),
    messageUsage(role, inner),
  )
}

function messageParts(type: "user" | "assistant", line: JsonObject, speaker: Speaker): Part[] {
  const message = line["message"]
  const content = isObject(message) ? message["content"] : message
  if (type === "assistant") return assistantParts(content, assistantTextKind(line, content))
  return userParts(content, {
    speaker,
    isCompactionSummary: line["isCompactSummary"] === true,
    isSkill: line["isMeta"] === true && stringOf(line["sourceToolUseID"]) !== undefined,
    toolUseResult: line["toolUseResult"],
    userFeedback: line["userFeedback"],
  })
}

/**
 * Claude Code itself answers, under a model name of its own, if the API did not answer or was not asked. That is not an
 * error if the line says so: a plugin that answers a compaction may put words into the assistant's mouth.
 */
function assistantTextKind(line: JsonObject, content: unknown): "text" | "apiError" | "notice" {
  if (line["isApiErrorMessage"] === true) return "apiError"
  if (objectOf(line["message"])["model"] !== SYNTHETIC) return "text"
  const only = Array.isArray(content) && content.length === 1 ? objectOf(content[0])["text"] : content
  return only === NO_ANSWER_WANTED || line["isApiErrorMessage"] === false ? "notice" : "apiError"
}

function speakerOf(line: JsonObject, sidechain: boolean): Speaker {
  if (line["isMeta"] === true || isForeign(line)) return "host"
  return sidechain ? "parent" : "human"
}

function typeOf(line: JsonObject): string {
  const type = stringOf(line["type"])
  if (type !== undefined) return type
  const role = objectOf(line["message"])["role"]
  return role === "user" || role === "assistant" ? role : "unknown"
}

function subtyped(type: string, subtype: unknown): string {
  return typeof subtype === "string" && subtype !== "" ? `${type}/${subtype}` : type
}

function record(
  type: string,
  line: JsonObject,
  sidechain: boolean,
  parts: readonly Part[],
  usage: Usage | undefined,
): TranscriptRecord {
  return {
    type,
    uuid: stringOf(line["uuid"]),
    // A compaction breaks the chain of parents; the logical parent rejoins it.
    parentUuid: stringOf(line["parentUuid"]) ?? stringOf(line["logicalParentUuid"]),
    timestamp: stringOf(line["timestamp"]),
    sessionId: stringOf(line["sessionId"]) ?? stringOf(line["session_id"]),
    cwd: folderNamed(line["cwd"]),
    version: stringOf(line["version"]),
    gitBranch: stringOf(line["gitBranch"]),
    agentId: stringOf(line["agentId"]),
    promptId: stringOf(line["promptId"]),
    promptSource: stringOf(line["promptSource"]),
    imported: isObject(objectOf(line["ctxbridge"])["import"]) || undefined,
    sidechain,
    usage,
    parts,
  }
}

/** A Windows path with slashes, as hooks have it. */
function folderNamed(value: unknown): string | undefined {
  const folder = stringOf(value)
  return folder && withSlashes(folder)
}

/*
 * Claude Code's own account of cost and work. `result` ends each query of print mode and the SDK, where the output was
 * recorded (`--output-format stream-json`); `cost-state` is what versions from 2.1.329 on write into their transcripts.
 */

function resultIn(type: "result" | "cost-state", line: JsonObject): ClaudeResult {
  const isState = type === "cost-state"
  // Before 1.0, `cost_usd`.
  const cost = figure(isState ? line["totalCostUSD"] : (line["total_cost_usd"] ?? line["cost_usd"]))
  const { usage } = line
  return {
    kind: isState ? type : (stringOf(line["subtype"]) ?? "unknown"),
    isError: line["is_error"] === true,
    cost,
    requests: isState ? undefined : figure(line["num_turns"]),
    duration: isState ? undefined : figure(line["duration_ms"]),
    tokens: isState || !isObject(usage) ? undefined : tokensIn(usage),
    key: stringOf(line["uuid"]) ?? FIGURES.map((name) => line[name]).join(" "),
  }
}

/** What tells such lines apart, where they have no uuid. */
const FIGURES = [
  ...["sessionId", "startTime", "totalDuration", "totalCostUSD"],
  ...["session_id", "duration_ms", "duration_api_ms", "total_cost_usd", "cost_usd", "num_turns"],
]

const figure = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined

/* Lines that Claude Code writes of its own accord: system events, attachments, the prompt queue. */

/** Events that consist of words. Their `content` is always Claude Code's, whatever it looks like. */
const TOLD = new Set(["informational", "away_summary", "scheduled_task_fire", "bridge_status"])

/** Parts of a `system` line. */
function systemParts(line: JsonObject, speaker: Speaker): Part[] {
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
function attachmentParts(attachment: JsonObject, speaker: Speaker): Part[] {
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
  const isClaudes = attachment["isMeta"] === true || mode === "task-notification" || isForeign(attachment)
  const by = isClaudes ? "host" : speaker
  return textsOf(attachment["prompt"]).flatMap((text) =>
    userTextParts(text, by, mode === "bash" ? "bash" : "queued"),
  )
}

/** Whether Claude Code names somebody other than a human as the source of the words. */
function isForeign(line: JsonObject): boolean {
  const kind = objectOf(line["origin"])["kind"]
  return line["promptSource"] === "system" || (typeof kind === "string" && kind !== "human")
}

/** Parts of a `queue-operation` line. */
function queueParts(line: JsonObject): Part[] {
  return textsOf(line["content"]).flatMap(queuedTextParts)
}

/** Parts of the lines that name the session. */
function titleParts(line: JsonObject): Part[] {
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

export const claudeCode: Agent = {
  name: "claude",
  title: "Claude Code",
  transcripts: ({ claudeDir }) => [transcriptsFolder(claudeDir)],
  isNamedAsTranscript: liesAsTranscript,
  promptHistory: ({ claudeDir }) => `${claudeDir}/${PROMPT_HISTORY}`,
  historyPrompt: (line) => {
    const value = parseJson(line)
    return isObject(value) ? promptIn(value) : undefined
  },
  wrote: () => true,
  decode: decodeRecord,
  partsOf,
  mediaData,
  tools: CLAUDE_CODE_TOOLS,
  // As its `--help` says in 2.1.330.
  commandLine: {
    program: "claude",
    resume: (session) => ["--resume", session],
    begin: (prompt) => [prompt],
    folderIn: "CLAUDE_CONFIG_DIR",
  },
}
