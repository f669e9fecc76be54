/**
 * Copilot CLI's hooks (1.0.102): what it tells them and takes from them, and what hooks look for in a session's events.
 * It tells of a compaction only before, and has it done while it works on: where it was, only the transcript says. Pure.
 */

import { parseJson } from "../../base/json-files.ts"
import { dirname, isAbsolute, join, withSlashes } from "../../base/path.ts"
import { isPlainId, sessionIdOf } from "../../base/session-id.ts"
import { transcriptPath } from "../../claude/hooks.ts"
import { listsOurServer } from "../../claude/our-server.ts"
import type { AgentPlaces } from "../../record/agent.ts"
import type { EventName, HookEvent, HookForm } from "../../record/hook-event.ts"
import { type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import { linesWith, offsetsOf } from "../../record/lines-with.ts"
import { copilotFolder, copilotTranscript, SERVERS_FILE } from "./copilot-places.ts"

function decode(name: EventName, document: unknown, places: AgentPlaces): HookEvent | undefined {
  const fields = objectOf(document)
  const told = stringOf(fields["sessionId"])
  if (told === undefined) return undefined
  const isStrange = !isPlainId(told)
  // Most events name none, but a session's is where it always is. A subagent has an id of its own, and no transcript.
  const transcript =
    transcriptPath(fields["transcriptPath"]) ??
    (isStrange ? undefined : copilotTranscript(copilotFolder(places), told))
  const cwd = stringOf(fields["cwd"])
  const source = stringOf(fields["source"])
  return {
    name,
    agent: "copilot",
    session: sessionIdOf(told),
    isStrange,
    transcript,
    folder: transcript && dirname(transcript),
    cwd: cwd !== undefined && isAbsolute(cwd) ? withSlashes(cwd) : undefined,
    prompt: stringOf(fields["prompt"])?.toWellFormed(),
    isHuman: name === "user-prompt-submit",
    source: name === "session-start" ? (source === "new" ? "startup" : source) : undefined,
    trigger: stringOf(fields["trigger"]),
    focus: name === "pre-compact" ? stringOf(fields["customInstructions"])?.toWellFormed() : undefined,
    reason: stringOf(fields["reason"]),
    isSubagents: false,
    agentType: undefined,
    agentTranscript: undefined,
    lastMessage: undefined,
  }
}

const GIVING: readonly EventName[] = ["session-start", "user-prompt-submit", "post-tool-use"]

/** Names of our tools, as everybody else calls them. */
const OUR_TOOLS = /`mcp__ctxbridge__/g

/** What is said before a compaction reaches nobody, and of notes for the user it knows nothing. */
const encode: HookForm["encode"] = ({ name }, { text }) =>
  text === "" || !GIVING.includes(name)
    ? ""
    : JSON.stringify({ additionalContext: text.replace(OUR_TOOLS, "`ctxbridge-") })

const COMPACTED = '"session.compaction_complete"'
const SAID = '"assistant.message"'

/** Of the conversation: not a subagent's own, and not one that failed, or of which nothing came. */
export function isCompaction(line: JsonObject): boolean {
  const { success, outcome } = objectOf(line["data"])
  const isApplied = success === true && (outcome === undefined || outcome === "applied")
  return line["type"] === "session.compaction_complete" && line["agentId"] === undefined && isApplied
}

function summaryIn(content: Buffer): string {
  const found = [...linesWith(content, COMPACTED)].findLast(({ line }) => isCompaction(line))
  return stringOf(objectOf(found?.line["data"])["summaryContent"]) ?? ""
}

const isAnswer = (line: JsonObject): boolean =>
  line["type"] === "assistant.message" && line["agentId"] === undefined

export const COPILOT_HOOKS: HookForm = {
  decode,
  encode,
  compactionOffsets: (content) => offsetsOf(content, COMPACTED, isCompaction),
  other: {
    summaryIn,
    hasAnswer: (content) => linesWith(content, SAID).some(({ line }) => isAnswer(line)),
    startsServer: (places, read) =>
      listsOurServer(objectOf(parseJson(read(join(copilotFolder(places), SERVERS_FILE)) ?? ""))),
  },
}
