/**
 * What identifies a message. Pure except for Bun's hash.
 *
 * Forks and resumes copy lines with their uuids, so `key` is uuid and content. A compaction answered by a plugin writes
 * kept messages again under new uuids, so `alias` is the API's name of the message or, for all others, its time.
 *
 * A subagent that continues from the conversation (one that compacts it, or a fork of it) begins with copies of its
 * lines, and may be read first. So a subagent's lines have keys of their own, and `original` tells what they may copy.
 */
import { isReport } from "../agents/origin.ts"
import type { Part, TranscriptRecord } from "../record/types.ts"

export const hash = (...parts: string[]): bigint => BigInt.asIntN(64, Bun.hash.xxHash64(parts.join("\0"), 0n))

/** The content by which copies are told from new messages; never stored. */
function essence(part: Part): string {
  switch (part.kind) {
    case "toolUse":
      return `${part.kind} ${part.id}`
    case "toolResult":
      return `${part.kind} ${part.id} ${part.isError} ${part.text}`
    case "boundary":
      return `${part.kind} ${part.trigger} ${part.preTokens}`
    case "media":
      return `${part.kind} ${part.mediaType} ${part.base64Length}`
    default:
      return `${part.kind} ${part.text}`
  }
}

/** Without answers to questions: the result that they are in names them. */
const essenceOf = (parts: readonly Part[]): string =>
  parts
    .filter(({ kind }) => kind !== "reply")
    .map(essence)
    .join("\n")

export interface Identity {
  /** The same for every copy of the line, in any session. */
  readonly key: bigint
  /** The same for every copy within the session, whatever its uuid; undefined if nothing else names the message. */
  readonly alias: bigint | undefined
  /** In a subagent's transcript: the key that the same line has in a session's own transcript, if it is there. */
  readonly original: bigint | undefined
}

/**
 * @param parts of the record, without those about its session
 * @param place identifies a line that has no uuid
 * @param own whether it is in a subagent's transcript, where sidechain lines are the session's own
 * @param session that its transcript is of
 */
export function identify(
  record: TranscriptRecord,
  parts: readonly Part[],
  place: string,
  own: boolean,
  session: string,
): Identity {
  const content = essenceOf(parts)
  if (record.once === true && record.uuid !== undefined)
    return { key: hash("once", session, record.uuid), alias: undefined, original: undefined }
  const name = record.uuid ?? `${place} ${record.type}`
  return {
    key: own ? hash("subagent", name, content) : hash(name, content),
    alias: record.sidechain && !own ? undefined : aliasOf(record, parts, content),
    original: own ? hash(name, essenceOf(parts.map(saidToSession))) : undefined,
  }
}

/** If the line comes from the conversation, a subagent's brief is the human's prompt. */
const saidToSession = (part: Part): Part =>
  part.kind === "brief" ? { kind: "prompt", via: "typed", text: part.text } : part

function aliasOf(record: TranscriptRecord, parts: readonly Part[], content: string): bigint | undefined {
  if (record.usage !== undefined && parts.length > 0) return hash("message", record.usage.messageId, content)
  if (parts.some((part) => part.kind === "toolResult")) return hash("result", content)
  // Kept messages keep their time.
  if (record.timestamp === undefined || parts.length === 0) return undefined
  // In the queue, the same words may wait several times (turn-writer.ts).
  if (parts.some((part) => part.kind === "enqueued")) return undefined
  return hash(opensTurn(parts[0]) ? "prompt" : "host", record.timestamp, content)
}

/** Short id of a session, for tables with many rows per session. */
export const sessionKey = (session: string): bigint => hash("session", session)

const SAID_BY_HUMAN: readonly Part["kind"][] = ["prompt", "reply", "enqueued"]

/** Who speaks in a line: a human also beside a result that only reports what they say. */
export function role(parts: readonly Part[]): "human" | "assistant" | "tool" | "host" {
  for (const part of parts) {
    if (SAID_BY_HUMAN.includes(part.kind)) return "human"
    if (part.kind === "toolResult" && !isReport(part, parts)) return "tool"
    if (["text", "thinking", "toolUse"].includes(part.kind)) return "assistant"
  }
  return "host"
}

export const opensTurn = (part: Part | undefined): part is Extract<Part, { kind: "prompt" | "brief" }> =>
  part?.kind === "prompt" || part?.kind === "brief"
