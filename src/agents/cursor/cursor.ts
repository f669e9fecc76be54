/**
 * Cursor's command line as one of the agents. Its transcripts hold what was said and called, in the form of Anthropic's
 * API, without results, ids, folders and times but those that it puts before a prompt. As others describe it, in 2026; the
 * program itself was not tried.
 */
import type { Agent, AgentTool } from "../../record/agent.ts"
import { isObject, type JsonObject, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { type Part, plainRecord, type TranscriptRecord } from "../../record/types.ts"
import { contentBlocks, modelBlocks, userBlocks, withoutTags } from "../block-content.ts"
import { cursorTranscripts, isCursorTranscript } from "./cursor-places.ts"

const NAME = "cursor"

const LINE = /^\s*\{\s*"role"\s*:\s*"(?:user|assistant)"\s*,\s*"message"\s*:\s*\{\s*"content"\s*:/
/** What it notes besides, such as the end of a turn. */
const CONTROL = /^\s*\{\s*"type"\s*:\s*"turn_ended"/

/** Those of its tools that Claude Code does not have, too. */
const TOOLS: Readonly<Record<string, AgentTool>> = {
  Shell: { kind: "run", target: ["command"] },
  StrReplace: { kind: "edit", target: ["path"] },
  Delete: { kind: "edit", target: ["path"] },
}

/** Decodes one line. Never throws; a line that is not a JSON object becomes a record of type `malformed`. */
function decodeLine(text: string): TranscriptRecord {
  const line = parseLine(text)
  if (!isObject(line)) return record("malformed", [], undefined)
  const { content } = objectOf(line["message"])
  switch (line["role"]) {
    case "user":
      return record("user", userBlocks(content, { typed }), timeIn(content))
    case "assistant":
      return record("assistant", named(modelBlocks(content, asKnown), text), undefined)
    default:
      return record(stringOf(line["type"]) ?? "unknown", [], undefined)
  }
}

/** Calls have no ids: the line and the place in it stand for one. */
const named = (parts: readonly Part[], line: string): Part[] =>
  parts.map((part, n) =>
    part.kind === "toolUse" && part.id === ""
      ? { ...part, id: `${Bun.hash.xxHash64(line, 0n).toString(16)}-${n}` }
      : part,
  )

const record = (type: string, parts: readonly Part[], timestamp: string | undefined): TranscriptRecord => ({
  ...plainRecord(NAME, type, parts),
  timestamp,
})

/** What was typed stands in a tag of its own; what Cursor adds, in others. */
const [QUERY, QUERY_END] = ["<user_query>", "</user_query>"] as const
const ADDED = [
  "timestamp",
  "user_info",
  "system_reminder",
  "open_and_recently_viewed_files",
  "attached_files",
]

function typed(text: string): string {
  const from = text.indexOf(QUERY)
  // It may quote that tag.
  const to = text.lastIndexOf(QUERY_END)
  return from < 0 || to < from ? withoutTags(text, ...ADDED) : text.slice(from + QUERY.length, to).trim()
}

/** `Sunday, Jul 26, 2026, 1:06 PM (UTC+3)` */
const TIME = /^\s*<timestamp>\w+, (\w+ \d+, \d{4}, \d+:\d\d [AP]M) \(UTC([+-]\d+)?(?::(\d\d))?\)<\/timestamp>/

function timeIn(content: unknown): string | undefined {
  const [, day, hours = "+0", minutes = "00"] =
    TIME.exec(stringOf(contentBlocks(content)[0]?.["text"]) ?? "") ?? []
  const ms =
    day === undefined
      ? Number.NaN
      : Date.parse(`${day} GMT${hours[0]}${hours.slice(1).padStart(2, "0")}${minutes}`)
  return Number.isFinite(ms) ? new Date(ms).toISOString() : undefined
}

/** What is written into a file is in a field of another name. */
const asKnown = (_name: string, { contents, ...fields }: JsonObject): JsonObject =>
  contents === undefined ? fields : { ...fields, content: contents }

export const cursor: Agent = {
  name: NAME,
  title: "Cursor",
  isUntried: true,
  transcripts: cursorTranscripts,
  isNamedAsTranscript: isCursorTranscript,
  wrote: (line) => LINE.test(line.slice(0, 200)) || CONTROL.test(line.slice(0, 100)),
  decode: decodeLine,
  partsOf: decodeLine,
  tools: TOOLS,
}
