/**
 * Cline as one of the agents: sessions of its command line, and tasks of its extension for VS Code. Each is a document
 * with messages in the form of Anthropic's API. As others describe them, in 2026; the program itself was not tried.
 */
import { isAbsolute, join, withSlashes } from "../../base/path.ts"
import type { Agent, AgentPlaces, AgentTool } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { type Part, plainRecord, type TranscriptRecord, UNTOLD_COMPACTION } from "../../record/types.ts"
import { blockMedia, contentBlocks, modelBlocks, userBlocks } from "../block-content.ts"
import { CODEX_TOOLS, PATCH } from "../codex/codex-tools.ts"
import { CLINE_VARIABLES, clineName, isClineSession } from "./cline-places.ts"

const NAME = "cline"
const TITLE = "Cline"

/** Lines of a session, as they are made here: its beginning, its messages, and what it was summarised as. */
const LINE = /^\s*\{\s*"cline"\s*:\s*"(?:session|message|compaction)"/

const find: AgentTool = { kind: "search", target: ["query", "regex", "path"] }
const ask: AgentTool = { kind: "ask", target: ["question"] }

/** Those of its tools that others do not have, too. */
const TOOLS: Readonly<Record<string, AgentTool>> = {
  run_commands: { kind: "run", target: ["command"] },
  execute_command: { kind: "run", target: ["command"] },
  read_files: { kind: "read", target: ["path"], files: filesRead },
  write_to_file: { kind: "write", target: ["path"] },
  replace_in_file: { kind: "edit", target: ["path"] },
  editor: { kind: "edit", target: ["path"] },
  search_codebase: find,
  search_files: find,
  list_files: find,
  list_code_definition_names: find,
  fetch_web_content: { kind: "fetch", target: ["url"] },
  ask_question: ask,
  ask_followup_question: ask,
  plan_mode_respond: { kind: "plan", target: ["response"] },
  apply_patch: CODEX_TOOLS["apply_patch"]!,
}

/** Below the folder of a user's settings. */
const EXTENSION = "Code/User/globalStorage/saoudrizwan.claude-dev"

function clineFolders({ home, named }: AgentPlaces): string[] {
  const [sessions, data, own = join(home, ".cline")] = CLINE_VARIABLES.map(named)
  // On Linux, macOS and Windows.
  const settings = [".config", "Library/Application Support", "AppData/Roaming"]
  return [
    sessions ?? join(data ?? join(own, "data"), "sessions"),
    ...settings.map((folder) => join(home, folder, EXTENSION, "tasks")),
  ]
}

function filesRead({ path, paths }: JsonObject): { path: string; op: "read" }[] {
  const named = Array.isArray(paths) ? paths : [path]
  return named.flatMap((one) => (typeof one === "string" ? [{ path: withSlashes(one), op: "read" }] : []))
}

function documentLines(
  text: string,
  path: string,
  beside: (name: string) => string | undefined,
): JsonObject[] {
  const document = JSON.parse(text) as unknown
  const list = isObject(document) ? document["messages"] : document
  if (!Array.isArray(list)) throw new Error("no session of Cline")
  const messages = list.filter(isObject)
  const id = clineName(path)
  const lines = messages.map(
    (message, n): JsonObject => ({ cline: "message", row: `${id}-${n}`, ...message }),
  )
  const beginning = (about: JsonObject): JsonObject => ({ cline: "session", session: id, ...about })
  if (path.endsWith("/api_conversation_history.json"))
    return [beginning(taskBeginning(id, messages)), ...lines]
  const { cwd, workspace_root: root, started_at: started, metadata } = objectIn(beside(`${id}.json`))
  const about = {
    cwd: cwd ?? root,
    started: started ?? messages[0]?.["ts"],
    title: objectOf(metadata)["title"],
  }
  return [beginning(about), ...withCompaction(lines, objectIn(beside(`${id}.compaction.json`)))]
}

const objectIn = (text: string | undefined): JsonObject =>
  objectOf(text === undefined ? undefined : parseLine(text))

/** Its name is when it began, in ms since the epoch; its folder stands in what the extension adds to prompts. */
function taskBeginning(id: string | undefined, messages: readonly JsonObject[]): JsonObject {
  const texts = messages.flatMap(({ content }) => contentBlocks(content).map(({ text }) => stringOf(text)))
  const cwd = texts
    .map((text) => /^# Current Working Directory \(([^\n]+?)\) Files/m.exec(text ?? "")?.[1])
    .find((folder) => folder !== undefined)
  return { cwd, started: /^\d{13}$/.test(id ?? "") ? Number(id) : undefined }
}

/** A summary stands beside the session, whose messages all remain: it goes before those that are later. */
function withCompaction(lines: readonly JsonObject[], compaction: JsonObject): JsonObject[] {
  const kept = Array.isArray(compaction["messages"]) ? compaction["messages"].filter(isObject) : []
  const found = kept.find(({ metadata }) => objectOf(metadata)["kind"] === "compaction_summary")
  if (found === undefined) return [...lines]
  const { ts, metadata } = found
  const made: JsonObject = { cline: "compaction", ts, summary: objectOf(metadata)["summary"] }
  const later = lines.findIndex((line) => typeof ts === "number" && Number(line["ts"]) > ts)
  return later === -1 ? [...lines, made] : lines.toSpliced(later, 0, made)
}

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeLine(text: string): TranscriptRecord {
  const line = parseLine(text)
  if (!isObject(line)) return record("malformed", {}, [])
  if (line["cline"] === "session") return sessionRecord(line)
  if (line["cline"] === "compaction") return record("compaction", line, compactionParts(line["summary"]))
  const content = contentBlocks(line["content"]).map(asResult)
  if (line["role"] === "user") return record("user", line, userParts(content))
  if (line["role"] !== "assistant") return record("message", line, [])
  return record("assistant", line, modelBlocks(content, asKnown))
}

const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  uuid: stringOf(line["row"]),
  timestamp: timeOf(line["ts"]),
})

function sessionRecord(line: JsonObject): TranscriptRecord {
  const [title, cwd] = [stringOf(line["title"]), stringOf(line["cwd"])]
  return {
    ...record("session", line, title === undefined ? [] : [{ kind: "title", text: title }]),
    timestamp: timeOf(line["started"]),
    sessionId: stringOf(line["session"]),
    cwd: cwd !== undefined && isAbsolute(cwd) ? withSlashes(cwd) : undefined,
  }
}

/** ms since the epoch, or a date in words. */
function timeOf(value: unknown): string | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : value
  return typeof ms === "number" && Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : undefined
}

function compactionParts(summary: unknown): Part[] {
  const text = stringOf(summary) ?? ""
  return text === "" ? [UNTOLD_COMPACTION] : [UNTOLD_COMPACTION, { kind: "summary", text, by: TITLE }]
}

/** In which of its tags the words of a human stand. */
const SAID =
  /<(task|feedback|answer|user_message|user_input|new_task_message)(?: [^>]*)?>\n?([\s\S]*?)\n?<\/\1>/g
/** What stands there where a call was written as text: its result, in blocks of text. */
const RESULT = /^\[[^\n]+\] Result:/

/** Beginnings of what it says itself there. */
const OWN = /^\s*(?:\[[A-Z]{4,}[^\n\]]*\]|# (?:task_progress|TODO LIST)|<explicit_instructions)/

/**
 * Words of a human stand in tags, or alone. Where a message holds results as text, nothing but what stands in tags is
 * sure to be a human's.
 */
function userParts(content: readonly JsonObject[]): Part[] {
  const holdsResults = content.some(({ text }) => RESULT.test(stringOf(text) ?? ""))
  return userBlocks(content, {
    typed(text) {
      const tagged = [...text.matchAll(SAID)].map(([, , said = ""]) => said.trim())
      if (tagged.length > 0) return tagged.join("\n")
      const isCline = holdsResults || OWN.test(text)
      return isCline ? "" : text.replace(/<environment_details>[\s\S]*?<\/environment_details>/g, "").trim()
    },
  })
}

/** How a command ended stands in words; what several calls gave may be a list. */
function asResult(block: JsonObject): JsonObject {
  if (block["type"] !== "tool_result") return block
  const blocks = contentBlocks(block["content"])
  const told = blocks.map(outputOf)
  const text = told.join("\n")
  const code = /^Command (?:failed with exit code|exited with code) ([1-9]\d{0,9})\b/m.exec(text)?.[1]
  const isFailed = blocks.some(({ success }) => success === false)
  const output = { type: "text", text: code === undefined ? text : `Exit code ${code}\n${text}` }
  return {
    ...block,
    content: [output, ...blocks.filter(({ type }) => type === "image")],
    is_error: block["is_error"] === true || isFailed || code !== undefined,
  }
}

function outputOf({ text, result, error }: JsonObject): string {
  return [text, result, error].flatMap((one) => stringOf(one) ?? []).join("\n")
}

/** Commands and files may be lists; what an edit replaces is in fields of other names. */
function asKnown(name: string, { commands, files, old_text, new_text, ...fields }: JsonObject): JsonObject {
  if (name === "apply_patch" && fields["input"] !== undefined) return { [PATCH]: fields["input"] }
  const run = listed(commands, "command")
  const paths = listed(files, "path")
  return {
    ...(run.length > 0 && { command: run.join("\n") }),
    ...(paths.length > 0 && { path: paths[0], paths }),
    ...fields,
    ...(old_text !== undefined && { old_string: old_text }),
    ...(new_text !== undefined && { new_string: new_text }),
  }
}

const listed = (list: unknown, field: string): string[] =>
  (Array.isArray(list) ? list : [list]).flatMap(
    (one) => stringOf(one) ?? stringOf(objectOf(one)[field]) ?? [],
  )

export const cline: Agent = {
  name: NAME,
  title: TITLE,
  isUntried: true,
  transcripts: clineFolders,
  isNamedAsTranscript: isClineSession,
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
