/**
 * What became of a conversation at each of its compactions: what was there before, what the host kept, what was given
 * back, what is lost. Derived only from the transcript and from what was given. Pure.
 */

import { stringsIn } from "../agents/tool-input.ts"
import type { PlacedRecord } from "../archive/records.ts"
import { atLeast, TELLS_CONTEXT } from "../claude/versions.ts"
import { MARK } from "../transcript/our-marks.ts"
import type { TranscriptRecord } from "../transcript/types.ts"
import { Present } from "./conversation-facts.ts"
import { HELD_KINDS, type HeldKind, holderOf, shortNames } from "./summary-holds.ts"

export interface KindCounts {
  /** In the context that was compacted, since the previous compaction. */
  readonly before: number
  /**
   * Of these, how many are in the host's summary, verbatim or by a short name (summary-holds.ts), or in a message that it kept.
   */
  readonly kept: number
  /** Of the rest, how many are in what was given back. */
  readonly given: number
  readonly lost: number
}

/**
 * Whether what was given back reached the conversation: `arrived` at once, `arrived-later` at a prompt. `lost`: the
 * host answered without it. `open`: nothing was said since. `untold`: this host does not record it.
 */
export type DeliveryProof = "arrived" | "arrived-later" | "lost" | "open" | "untold" | "nothing-given"

export interface Receipt {
  readonly session: string
  /** Offset of the boundary in its transcript, in bytes. */
  readonly offset: number
  readonly time: string | null
  readonly trigger: string
  /** Tokens in the context just before, as the host counts them. */
  readonly preTokens: number | null
  readonly kinds: Readonly<Record<HeldKind, KindCounts>>
  /** UTF-16 units of what was given back. */
  readonly characters: number
  /** What was given back. */
  readonly text: string
  readonly delivery: DeliveryProof
}

/** A restore as our hook gave it. */
export interface GivenText {
  /** Size of the transcript at that moment, in bytes. */
  readonly at: number
  readonly text: string
}

/** Only this many of the newest messages can be ones that the host keeps. */
const MAYBE_KEPT = 200

/** A compaction, while the records after it are read. */
interface Draft {
  readonly boundary: PlacedRecord
  readonly trigger: string
  readonly preTokens: number | undefined
  readonly before: Present
  kept: string
  /** Restores that arrived, with the event of the hook that brought them. */
  readonly arrived: { readonly event: string; readonly text: string }[]
  answered: boolean
  version: string | undefined
}

/**
 * The compactions in one transcript, in order, except those of a session that it was forked from.
 *
 * @param givenAt what was given at the compaction nearest to an offset
 */
export function* receiptsIn(
  session: string,
  records: Iterable<PlacedRecord>,
  givenAt: (boundary: number) => string,
): Generator<Receipt> {
  let before = new Present()
  let recent: TranscriptRecord[] = []
  let said = false
  let draft: Draft | undefined
  for (const { record, offset } of records) {
    if (record.sidechain) continue
    const boundary = record.parts.find((part) => part.kind === "boundary")
    if (boundary !== undefined) {
      if (draft !== undefined) yield finish(session, draft, givenAt)
      const kept = preservedText(recent, boundary.preserved)
      const { trigger, preTokens } = boundary
      const place = { boundary: { record, offset }, trigger, preTokens, before, kept }
      draft = said ? { ...place, arrived: [], answered: false, version: undefined } : undefined
      before = new Present()
      recent = []
      said = false
      continue
    }
    said ||= record.parts.some(({ kind }) => kind === "prompt" || kind === "text" || kind === "toolUse")
    if (draft !== undefined) follow(draft, record)
    before.take(record)
    recent.push(record)
    if (recent.length > 2 * MAYBE_KEPT) recent = recent.slice(-MAYBE_KEPT)
  }
  if (draft !== undefined) yield finish(session, draft, givenAt)
}

function follow(draft: Draft, record: TranscriptRecord): void {
  const { type, parts, usage, version, timestamp } = record
  // When a plugin answers a compaction, the messages that it keeps are written again with their original times.
  if ((timestamp ?? "") < (draft.boundary.record.timestamp ?? "")) draft.kept += `\n${textOf([record])}`
  for (const part of parts) {
    if (part.kind === "summary") draft.kept += `\n${part.text}`
    else if (type === "attachment/hook_additional_context" && part.kind === "context") {
      if (part.text.includes(MARK)) draft.arrived.push({ event: part.source, text: part.text })
    }
  }
  if (usage === undefined) return
  draft.answered = true
  draft.version = version ?? draft.version
}

function finish(session: string, draft: Draft, givenAt: (boundary: number) => string): Receipt {
  const { boundary, before, arrived, kept, trigger, preTokens } = draft
  const noted = givenAt(boundary.offset)
  // A message kept by a plugin may contain the previous restore again.
  const same = arrived.find(({ text }) => text.trim() === noted.trim())
  const text = (same ?? arrived.at(-1))?.text ?? noted
  const short = shortNames(before.of("path"), before.of("command"))
  const inKept = holderOf(kept, short)
  const inGiven = holderOf(text, short)
  const counts = (kind: HeldKind): KindCounts => {
    const all = [...before.of(kind)]
    const dropped = all.filter((fact) => !inKept(kind, fact))
    const given = dropped.filter((fact) => inGiven(kind, fact)).length
    return { before: all.length, kept: all.length - dropped.length, given, lost: dropped.length - given }
  }
  return {
    session,
    offset: boundary.offset,
    time: boundary.record.timestamp ?? null,
    trigger,
    preTokens: preTokens ?? null,
    kinds: Object.fromEntries(HELD_KINDS.map((kind) => [kind, counts(kind)])) as Receipt["kinds"],
    characters: text.length,
    text,
    delivery: proofOf(draft, text),
  }
}

function proofOf({ arrived, answered, version }: Draft, text: string): DeliveryProof {
  if (arrived.some(({ event }) => event === "hook:SessionStart")) return "arrived"
  if (arrived.length > 0) return "arrived-later"
  if (text === "") return "nothing-given"
  if (!answered) return "open"
  return atLeast(version, TELLS_CONTEXT) ? "lost" : "untold"
}

export const preservedText = (records: readonly TranscriptRecord[], uuids: readonly string[]): string =>
  textOf(records.filter(({ uuid }) => uuid !== undefined && uuids.includes(uuid)))

/** The text of messages that stays in the context. */
function textOf(records: readonly TranscriptRecord[]): string {
  const texts = records.flatMap(({ parts }) =>
    parts.map((part) => {
      if (part.kind === "toolUse") return stringsIn(part.input).join("\n")
      return "text" in part ? part.text : ""
    }),
  )
  return texts.join("\n")
}
