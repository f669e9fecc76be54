/**
 * What a message is known by. Pure but for Bun's hash.
 *
 * Forks and resumes copy lines with their uuids: `key` is uuid and content. A compaction answered by a plugin writes
 * kept messages again under new uuids: `alias` is what the API calls the message or, for all others, its time.
 *
 * A subagent that goes on from the conversation (one that compacts it, or a fork of it) begins with copies of its lines,
 * and may be read before they are. So a subagent's lines have keys of their own, and `original` tells what they may copy.
 */
import type { Part, TranscriptRecord } from "../transcript/types.ts"

const hash = (...parts: string[]): bigint => BigInt.asIntN(64, Bun.hash.xxHash64(parts.join("\0"), 0n))

/** What a part says, for telling copies from new messages; never stored. */
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

export interface Identity {
  /** The same for every copy of the line, in any session. */
  readonly key: bigint
  /** The same within its session, whatever uuid the line has; undefined when nothing else names the message. */
  readonly alias: bigint | undefined
  /** In a subagent's transcript: the key of the same line in a session's own, if it stands there. */
  readonly original: bigint | undefined
}

/**
 * @param parts what the record says, without what is said of its session
 * @param place names a line that has no uuid
 * @param own whether it stands in a subagent's transcript: then sidechain lines are the session's own
 */
export function identify(
  record: TranscriptRecord,
  parts: readonly Part[],
  place: string,
  own: boolean,
): Identity {
  const content = parts.map(essence).join("\n")
  const name = record.uuid ?? `${place} ${record.type}`
  return {
    key: own ? hash("subagent", name, content) : hash(name, content),
    alias: record.sidechain && !own ? undefined : aliasOf(record, parts, content),
    original: own ? hash(name, parts.map(saidToSession).map(essence).join("\n")) : undefined,
  }
}

/** What a subagent was asked for is what the human said where the line comes from the conversation. */
const saidToSession = (part: Part): Part =>
  part.kind === "brief" ? { kind: "prompt", via: "typed", text: part.text } : part

function aliasOf(record: TranscriptRecord, parts: readonly Part[], content: string): bigint | undefined {
  if (record.usage !== undefined && parts.length > 0) return hash("message", record.usage.messageId, content)
  if (parts.some((part) => part.kind === "toolResult")) return hash("result", content)
  // What is kept keeps its time.
  if (record.timestamp === undefined || parts.length === 0) return undefined
  return hash(opensTurn(parts[0]) ? "prompt" : "host", record.timestamp, content)
}

/** What a session is called in tables with many rows of it. */
export const sessionKey = (session: string): bigint => hash("session", session)

/** Whose words a line carries. */
export function role(parts: readonly Part[]): "human" | "assistant" | "tool" | "host" {
  for (const part of parts) {
    if (part.kind === "prompt" || part.kind === "enqueued") return "human"
    if (part.kind === "toolResult") return "tool"
    if (["text", "thinking", "toolUse"].includes(part.kind)) return "assistant"
  }
  return "host"
}

export const opensTurn = (part: Part | undefined): part is Extract<Part, { kind: "prompt" | "brief" }> =>
  part?.kind === "prompt" || part?.kind === "brief"
