/**
 * A turn as it is kept elsewhere. It is complete in itself, and goes by its content: no row, file or path of the
 * archive that it comes from is needed to read it. The names of the metadata are those of the design documents. Pure.
 */

import { isPlainId } from "../../base/session-id.ts"

export interface EntryMetadata {
  /** Subagents: `<session>/<agent>`. */
  readonly sessionId: string
  /** Number of the turn in its session, from 1. */
  readonly chunkIndex: number
  /** When the turn began and ended, in ISO 8601. */
  readonly timestamp: string | null
  readonly ended: string | null
  /** Path of the project where the turn was archived. */
  readonly project: string | null
  /** Name of the computer that sent it. */
  readonly machine?: string
  readonly toolNames: readonly string[]
  readonly filePaths: readonly string[]
  /** Number of lines of the transcript. A turn that is still growing has more of them later. */
  readonly messages: number
  /** Whether the user took the turn back. */
  readonly takenBack: boolean
  /** Tokens by model. */
  readonly usage?: readonly EntryUsage[]
  /** Of the compaction that the turn went into, if there had been one when it was sent: manual or auto. */
  readonly trigger?: string
  /** Tokens in the context before that compaction. */
  readonly preTokens?: number
  /** First and last turn that the content is of. */
  readonly turnRange?: readonly [number, number]
  /** SHA-256 of the content, in hexadecimal. */
  readonly contentHash?: string
}

/** What the design documents say of every entry of theirs. What earlier versions have sent lacks it. */
export interface Episode<N extends string = typeof NAMESPACE> {
  readonly type: "episodic"
  readonly namespace: N
  readonly tags: readonly string[]
  readonly accessLevel: "private"
}

export const NAMESPACE = "transcript-archive"

export const episodeOf = ({ sessionId, toolNames }: EntryMetadata): Episode => ({
  type: "episodic",
  namespace: NAMESPACE,
  tags: ["transcript", "compaction", sessionId, ...toolNames],
  accessLevel: "private",
})

interface EntryUsage {
  readonly model: string
  readonly input: number
  readonly output: number
  readonly cacheCreation: number
  readonly cacheRead: number
}

/** Vectors of different embedders are never compared. */
export interface EntryVector {
  readonly embedder: string
  /** Of length 1. */
  readonly values: readonly number[]
}

export interface Entry extends Partial<Episode> {
  /** SHA-256 of key and content, in hexadecimal. */
  readonly id: string
  /** The turn, whatever its content: a turn that has grown has the same key under a new id. */
  readonly key: string
  /** One line of at most 300 UTF-16 units. */
  readonly summary: string
  readonly content: string
  readonly metadata: EntryMetadata
  readonly vector?: EntryVector
}

/** Completes an entry with its key and its id. Replaces what databases refuse: NUL, and halves of surrogate pairs. */
export function entryOf({
  vector,
  ...draft
}: Pick<Entry, "summary" | "content" | "metadata" | "vector">): Entry {
  const clean = storable(draft) as typeof draft
  const { summary, content } = clean
  const { sessionId, chunkIndex, timestamp } = clean.metadata
  const key = `transcript:${sessionId}:${chunkIndex}:${timestamp ?? ""}`
  const metadata = {
    ...clean.metadata,
    turnRange: [chunkIndex, chunkIndex] as const,
    contentHash: sha256Hex(content),
  }
  return {
    id: entryId(key, content),
    key,
    ...episodeOf(metadata),
    summary,
    content,
    metadata,
    ...(vector === undefined ? {} : { vector }),
  }
}

function storable(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("\0", "\ufffd").toWellFormed()
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, storable(one)]))
}

/** Nothing else counts, so a version that tells more of a turn has the same id, and is not sent again. */
export const entryId = (key: string, content: string): string => sha256Hex(`${key}\n${content}`)

const sha256Hex = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex")

/** Whether an entry is what it says it is. What others have written may be damaged, or made up. */
export function isEntry(value: unknown): value is Entry {
  const { id, key, summary, content, metadata, vector } = (value ?? {}) as Partial<
    Record<keyof Entry, unknown>
  >
  if (typeof key !== "string" || typeof content !== "string" || typeof summary !== "string") return false
  return isMetadata(metadata) && (vector === undefined || isVector(vector)) && id === entryId(key, content)
}

function isMetadata(value: unknown): boolean {
  const told = (value ?? {}) as Partial<Record<keyof EntryMetadata, unknown>>
  const { sessionId, chunkIndex, timestamp, ended, project, machine = "", messages, takenBack } = told
  return (
    typeof sessionId === "string" &&
    [chunkIndex, messages].every(Number.isInteger) &&
    [timestamp, ended, project].every((one) => one === null || typeof one === "string") &&
    typeof machine === "string" &&
    [told.toolNames, told.filePaths].every(isTexts) &&
    typeof takenBack === "boolean"
  )
}

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === "string")

function isVector(value: unknown): boolean {
  const { embedder, values } = (value ?? {}) as Partial<Record<keyof EntryVector, unknown>>
  return typeof embedder === "string" && Array.isArray(values) && values.every(Number.isFinite)
}

/**
 * Whether this is the name of a session, or of a subagent: `<session>/<agent>`. One of another tool's archive ends with
 * the tool's name (`foreign/marked-lines`). An entry or a piece of anything else is left out.
 */
export const isPlainSession = (session: string): boolean =>
  session
    .replace(/~[a-z-]{1,40}$/, "")
    .split("/")
    .every(isPlainId)

/** Whether a session is a given one, or a subagent of it. */
export const isOfSession = (session: string, owner: string): boolean =>
  session === owner || session.startsWith(`${owner}/`)

/** What decides between two versions of a turn. */
export interface Version extends Pick<Entry, "id">, Pick<EntryMetadata, "messages" | "takenBack"> {
  readonly hasVector: boolean
}

export const versionOf = ({ id, metadata: { messages, takenBack }, vector }: Entry): Version => ({
  id,
  messages,
  takenBack,
  hasVector: vector !== undefined,
})

/** Whether what is there of a turn is an earlier version than the one that was sent. */
export const isBehind = (
  there: Omit<Version, "hasVector"> | undefined,
  sent: Pick<Version, "id" | "messages">,
): boolean =>
  there === undefined ||
  there.messages < sent.messages ||
  (there.messages === sent.messages && !there.takenBack && there.id < sent.id)

/**
 * Whether a version of a turn takes the place of another: more lines, or else taken back, or else the larger id, or else
 * a vector. All readers agree, in whichever order they see them.
 */
export function isLater(one: Version, other: Version): boolean {
  if (one.messages !== other.messages) return one.messages > other.messages
  if (one.takenBack !== other.takenBack) return one.takenBack
  if (one.id !== other.id) return one.id > other.id
  return one.hasVector && !other.hasVector
}
