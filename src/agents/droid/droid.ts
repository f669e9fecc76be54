/**
 * Factory's droid as one of the agents: a line for each message, in the form of Anthropic's API, and for what it keeps of
 * the session. As others describe it, in 2025 and 2026; the program itself was not tried.
 */
import { isAbsolute, withSlashes } from "../../base/path.ts"
import { CLAUDE_CODE_TOOLS } from "../../claude/claude-code.ts"
import type { Agent, AgentTool } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { type Part, plainRecord, type TranscriptRecord, UNTOLD_COMPACTION } from "../../record/types.ts"
import { blockMedia, modelBlocks, userBlocks, withoutTags } from "../block-content.ts"
import { droidTranscripts, isDroidTranscript } from "./droid-places.ts"

const NAME = "droid"
const TITLE = "Factory droid"

const LINE =
  /^\s*\{\s*"type"\s*:\s*"(?:session_start|session_end|todo_state|compaction_state|message"(?=[\s\S]{0,400}"message"\s*:\s*\{\s*"role"))/

/** Those of its tools that Claude Code does not have, too. */
const TOOLS: Readonly<Record<string, AgentTool>> = {
  Execute: { kind: "run", target: ["command"] },
  Create: { kind: "write", target: ["file_path"] },
  FetchUrl: { kind: "fetch", target: ["url"] },
  ExitSpecMode: { kind: "plan", target: ["plan"] },
}

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeLine(text: string): TranscriptRecord {
  const line = parseLine(text)
  return isObject(line) ? decodeObject(line) : record("malformed", {}, [])
}

function decodeObject(line: JsonObject): TranscriptRecord {
  const type = stringOf(line["type"]) ?? "unknown"
  switch (type) {
    case "session_start": {
      const session = { ...objectOf(line["session"]), ...line }
      const text = stringOf(session["title"]) ?? stringOf(session["sessionTitle"])
      return {
        ...record(type, line, text === undefined ? [] : [{ kind: "title", text }]),
        uuid: undefined,
        sessionId: stringOf(session["id"]),
        cwd: folderIn(session),
        version: typeof line["version"] === "string" ? line["version"] : undefined,
      }
    }
    case "message":
      return messageRecord(line, objectOf(line["message"]))
    case "compaction_state":
      return record(type, line, compactionParts(line["summary"]))
    default:
      return record(type, line, [])
  }
}

const record = (type: string, line: JsonObject, parts: readonly Part[]): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  uuid: stringOf(line["id"]),
  parentUuid: stringOf(line["parentId"]),
  timestamp: stringOf(line["timestamp"]),
})

function folderIn(session: JsonObject): string | undefined {
  const folder = stringOf(session["cwd"]) ?? stringOf(session["workspace_root"])
  return folder !== undefined && isAbsolute(folder) ? withSlashes(folder) : undefined
}

function messageRecord(line: JsonObject, message: JsonObject): TranscriptRecord {
  const { role, content } = message
  const typed = (text: string): string => withoutTags(text, "system-reminder", "system-notification")
  const isUser = role === "user"
  const parts = isUser ? userBlocks(content, { typed }) : modelBlocks(content)
  return {
    ...record(isUser ? "user" : "assistant", line, parts),
    model: isUser ? undefined : stringOf(message["model"]),
  }
}

/** What is kept of the conversation before. */
function compactionParts(summary: unknown): Part[] {
  const { title, body } = objectOf(summary)
  const told = typeof summary === "string" ? [summary] : [stringOf(title), stringOf(body)]
  const text = told.filter((one) => one !== undefined).join("\n")
  return text === "" ? [UNTOLD_COMPACTION] : [UNTOLD_COMPACTION, { kind: "summary", text, by: TITLE }]
}

export const droid: Agent = {
  name: NAME,
  title: TITLE,
  isUntried: true,
  transcripts: droidTranscripts,
  isNamedAsTranscript: isDroidTranscript,
  wrote: (line) => LINE.test(line.slice(0, 600)),
  decode: decodeLine,
  partsOf: decodeLine,
  mediaData: (text) => {
    const line = parseLine(text)
    return isObject(line) ? blockMedia(objectOf(line["message"])["content"]) : []
  },
  tools: { ...TOOLS, ApplyPatch: { ...CLAUDE_CODE_TOOLS["Edit"]!, kind: "edit" } },
}
