/**
 * Qwen Code as one of the agents. Its sessions are trees of lines, as Claude Code's, with messages in the form of Google's
 * API. Read from 0.24.
 */
import { isAbsolute, withSlashes } from "../../base/path.ts"
import { CLAUDE_CODE_TOOLS } from "../../claude/claude-code.ts"
import type { Agent, AgentTool } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { MARK, withMarks } from "../../record/our-marks.ts"
import { tokenCount } from "../../record/token-counts.ts"
import type { Part, TranscriptRecord, Usage } from "../../record/types.ts"
import {
  GOOGLE_TOOLS,
  googleUsage,
  mediaIn,
  modelParts,
  promptTexts,
  resultParts,
} from "../google-content.ts"
import { compactionSummary, isQwenTranscript, qwenTranscripts } from "./qwen-places.ts"

const NAME = "qwen"
const TITLE = "Qwen Code"

/** What every line begins with. Claude Code's lines have no `parts`, nor these types. */
const HEAD = /^\s*\{\s*"uuid"\s*:\s*"[^"\\]*"\s*,\s*"parentUuid"\s*:/
const OWN =
  /"message"\s*:\s*\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"\s*:|"systemPayload"\s*:|"provenance"\s*:/

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeChat(text: string): TranscriptRecord {
  const line = parseLine(text)
  return isObject(line) ? decodeObject(line) : record("malformed", {}, [])
}

function decodeObject(line: JsonObject): TranscriptRecord {
  const type = stringOf(line["type"]) ?? "unknown"
  const subtype = stringOf(line["subtype"])
  const name = subtype === undefined ? type : `${type}/${subtype}`
  switch (type) {
    case "user":
      return record(name, line, userParts(line, subtype))
    case "assistant":
      return { ...record(name, line, callsUnwrapped(modelParts(partsIn(line)))), usage: usageIn(line) }
    case "tool_result":
      return record(name, line, resultParts(partsIn(line), endOf(objectOf(line["toolCallResult"]))))
    case "system":
      return systemRecord(name, line, subtype)
    default:
      return record(name, line, [])
  }
}

const partsIn = (line: JsonObject): unknown => objectOf(line["message"])["parts"] ?? []
const payloadIn = (line: JsonObject): JsonObject => objectOf(line["systemPayload"])

function record(type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord {
  const cwd = stringOf(line["cwd"])
  return {
    type,
    uuid: stringOf(line["uuid"]),
    parentUuid: stringOf(line["parentUuid"]),
    timestamp: stringOf(line["timestamp"]),
    sessionId: stringOf(line["sessionId"]),
    cwd: cwd !== undefined && isAbsolute(cwd) ? withSlashes(cwd) : undefined,
    version: stringOf(line["version"]),
    gitBranch: stringOf(line["gitBranch"]),
    agentId: stringOf(line["agentId"]),
    promptId: undefined,
    program: NAME,
    sidechain: line["isSidechain"] === true,
    usage: undefined,
    parts,
  }
}

/* What stands in the user's place: typed words, and what Qwen Code and hooks tell the model. */

/** By subtype: what a human says while the model works, and aloud. All others are Qwen Code's. */
const SAID = new Set([undefined, "mid_turn_user_message", "realtime_message"])
/** What hooks say at a prompt. */
const HOOK = /^\s*<qwen:user-prompt-submit-context>\n?([\s\S]*?)\n?<\/qwen:user-prompt-submit-context>\s*$/
/** What Qwen Code adds to a prompt besides files. */
const ADDED = /^\s*<system-reminder>[\s\S]*<\/system-reminder>\s*$/

function userParts(line: JsonObject, subtype: string | undefined): Part[] {
  const content = partsIn(line)
  const texts = promptTexts(content)
  const context = texts.flatMap((text) => hookText(text) ?? (isGiven(text) ? text : []))
  const rest = texts.filter((text) => !HOOK.test(text) && !ADDED.test(text) && !isGiven(text))
  const said = stringOf(payloadIn(line)["displayText"]) ?? rest.join("\n")
  const isHuman = SAID.has(subtype) && (line["provenance"] ?? "real_user") === "real_user"
  return [
    ...(said.trim() === "" ? [] : [saidBy(line, isHuman ? said : rest.join("\n"), isHuman, subtype)]),
    ...modelParts(content).filter(({ kind }) => kind === "media"),
    ...context.map((text): Part => ({ kind: "context", source: "hook:UserPromptSubmit", text })),
  ]
}

/** Tags in what hooks say are written as no tags. */
function hookText(text: string): string | undefined {
  const said = HOOK.exec(text)?.[1]
  return said && withMarks(said)
}

const isGiven = (text: string): boolean => text.trimStart().startsWith(MARK)

function saidBy(line: JsonObject, text: string, isHuman: boolean, subtype: string | undefined): Part {
  if (!isHuman) return { kind: "notice", text }
  if (line["isSidechain"] === true) return { kind: "brief", text }
  return { kind: "prompt", via: subtype === "mid_turn_user_message" ? "queued" : "typed", text }
}

/* Calls. */

/** Through this one, the model calls tools that were not described to it beforehand. */
const WRAPPER = "tool_call"

const callsUnwrapped = (parts: readonly Part[]): Part[] =>
  parts.map((part) => {
    if (part.kind !== "toolUse" || part.name !== WRAPPER) return part
    const { name, arguments: input } = objectOf(part.input)
    return { ...part, name: stringOf(name) ?? part.name, input: input ?? {} }
  })

function endOf(result: JsonObject): Parameters<typeof resultParts>[1] {
  const code = objectOf(result["resultDisplay"])["exitCode"]
  return { status: stringOf(result["status"]), exitCode: typeof code === "number" ? code : undefined }
}

function usageIn(line: JsonObject): Usage | undefined {
  const told = objectOf(line["usageMetadata"])
  return googleUsage(`${NAME} ${stringOf(line["uuid"])}`, stringOf(line["model"]), {
    input: told["promptTokenCount"],
    cached: told["cachedContentTokenCount"],
    output: told["candidatesTokenCount"],
    all: told["totalTokenCount"],
  })
}

/* What Qwen Code notes of its own accord. */

function systemRecord(name: string, line: JsonObject, subtype: string | undefined): TranscriptRecord {
  const payload = payloadIn(line)
  switch (subtype) {
    case "chat_compression":
      return record(name, line, compactionParts(payload))
    case "custom_title": {
      const text = stringOf(payload["customTitle"])
      // One that the user has given stands, whatever is generated later.
      const type = payload["titleSource"] === "auto" ? name : "custom-title"
      return record(type, line, text === undefined ? [] : [{ kind: "title", text }])
    }
    case "parent_session": {
      const parent = stringOf(payload["parentSessionId"])
      return {
        ...record(name, line, []),
        spawned: parent === undefined ? undefined : { parent, name: "session" },
      }
    }
    case "slash_command": {
      const text = payload["phase"] === "invocation" ? stringOf(payload["rawCommand"]) : undefined
      return record(name, line, text === undefined ? [] : [{ kind: "notice", text }])
    }
    case "ui_telemetry":
      return record(name, line, errorParts(objectOf(payload["uiEvent"])))
    default:
      return record(name, line, [])
  }
}

function compactionParts(payload: JsonObject): Part[] {
  const info = objectOf(payload["info"])
  const summary = compactionSummary(payload)
  const boundary: Part = {
    kind: "boundary",
    trigger: info["triggerReason"] === "manual" ? "manual" : "auto",
    preTokens: tokenCount(info["originalTokenCount"]) || undefined,
    postTokens: tokenCount(info["newTokenCount"]) || undefined,
    preserved: [],
  }
  if (summary === undefined) return [boundary]
  return [boundary, { kind: "summary", text: summary, by: TITLE }]
}

function errorParts(event: JsonObject): Part[] {
  if (event["event.name"] !== "qwen-code.api_error") return []
  const text = stringOf(event["error_message"]) ?? stringOf(event["error"])
  return text === undefined ? [] : [{ kind: "apiError", text }]
}

/* What its tools do, and what of their input tells most. Read from 0.24. */

const waiting: AgentTool = { kind: "watch", target: ["task_id"] }

const QWEN_TOOLS: Readonly<Record<string, AgentTool>> = {
  ...GOOGLE_TOOLS,
  edit: { kind: "edit", target: ["file_path", "path"] },
  notebook_edit: { kind: "edit", target: ["notebook_path"] },
  zoom_image: { kind: "read", target: ["file_path", "path"] },
  todo_write: { ...CLAUDE_CODE_TOOLS["TodoWrite"]!, kind: "todo" },
  task_create: { kind: "todo", target: ["subject", "description"] },
  task_update: { kind: "todo", target: ["taskId", "status"] },
  agent: { kind: "agent", target: ["description", "prompt"] },
  task: { kind: "agent", target: ["description", "prompt"] },
  create_sub_session: { kind: "agent", target: ["prompt", "title"] },
  skill: { kind: "skill", target: ["skill", "name"] },
  ask_user_question: { ...CLAUDE_CODE_TOOLS["AskUserQuestion"]!, kind: "ask" },
  exit_plan_mode: { kind: "plan", target: ["plan"] },
  tool_search: { kind: "search-tools", target: ["query"] },
  send_message: { kind: "agent", target: ["message", "content", "prompt"] },
  task_stop: waiting,
  list_agents: { kind: "watch" },
  monitor: { kind: "watch", target: ["command", "description"] },
}

export const qwen: Agent = {
  name: NAME,
  title: TITLE,
  transcripts: qwenTranscripts,
  isNamedAsTranscript: isQwenTranscript,
  wrote: (line) => HEAD.test(line.slice(0, 200)) && OWN.test(line.slice(0, 1500)),
  decode: decodeChat,
  partsOf: decodeChat,
  mediaData: (text) => {
    const line = parseLine(text)
    return isObject(line) ? mediaIn(partsIn(line)) : []
  },
  tools: QWEN_TOOLS,
  // As its `--help` says in 0.24.4.
  commandLine: {
    program: "qwen",
    resume: (session) => ["--resume", session],
    begin: (prompt) => ["--prompt-interactive", prompt],
  },
}
