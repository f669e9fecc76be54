/** Finds compactions that hooks were not told of, or not in full, in what the host has written. Asks the views. */

import type { Database } from "../archive/database.ts"
import { compactionBefore, type FoundCompaction, lastCompaction } from "../archive/queries/boundaries.ts"
import { givenMarks } from "../archive/queries/restores.ts"
import { firstTurnBehind } from "../archive/queries/turns.ts"
import { summaryIn } from "../claude/compact-summary.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import type { JsonObject } from "../transcript/json.ts"
import { linesWith } from "../transcript/lines-with.ts"
import { readPart } from "../vault/read-part.ts"
import type { SessionState } from "./state.ts"

/** A compaction's summary lies within this many bytes after it. */
const SUMMARY_WITHIN = 1 << 20
/** And the model's first words after it mostly within this many. */
const ANSWER_WITHIN = 1 << 16
/** ms by which a restore at a session's start may precede the time that the host gives the compaction. */
const HOOKS_LAST = 10 * 60_000

/** The compaction recorded as unanswered in the state; undefined if there was none, or if the views show an answer. */
export function missedCompaction(
  db: Database,
  session: string,
  { compactAt, unannounced }: SessionState,
): FoundCompaction | undefined {
  const last = lastCompaction(db, session, compactAt)
  if (last === undefined) return undefined
  // Hooks saw every announced compaction. For others the hooks' notes may be lost, and the views may know more.
  return unannounced === true && isAnswered(db, session, last) ? undefined : last
}

/** Id of the last turn before the compaction; undefined if none has begun since. Later ones are in the context. */
export function lastTurnBefore(
  db: Database,
  session: string,
  { transcript, offset }: FoundCompaction,
): number | undefined {
  const id = firstTurnBehind(db, session, transcript, offset)
  return id === undefined ? undefined : id - 1
}

/** Whether the views hold an answer to the compaction; in doubt, yes. */
function isAnswered(db: Database, session: string, { offset, time }: FoundCompaction): boolean {
  const former = compactionBefore(db, session, offset) ?? -1
  // Without a time, any restore counts.
  const since = (Date.parse(time ?? "") || 0) - HOOKS_LAST
  return givenMarks(db, session).some((given) => {
    const [place, bytes] = given.mark.split(" ")
    if (place !== "near" && Number(bytes) > offset) return true
    // Restores at a start come before the host writes the compaction down; those at a prompt answer an earlier one.
    if (place === "late" || given.time < since) return false
    return place === "near" || Number(bytes) > former
  })
}

/** The host's summary, read from the transcript when no hook received it. */
export function summaryBehind(event: HookEvent, compaction: FoundCompaction): string | undefined {
  const content = writtenSince(event, compaction)
  return content && summaryIn(content)
}

/**
 * The summary of the compaction after which a session starts, where the host has written it down before calling hooks.
 * Known clients do so afterwards; a recorded session that is replayed has it already.
 */
export function summaryAtStart(
  db: Database,
  event: HookEvent,
  { compactAt }: SessionState,
): string | undefined {
  const last = lastCompaction(db, event.session, compactAt)
  if (last === undefined) return undefined
  const isOver = (content: Buffer): boolean => linesWith(content, ANSWER).some(({ line }) => isAnswer(line))
  // The model has spoken since, mostly soon: this was an earlier compaction.
  const near = writtenSince(event, last, ANSWER_WITHIN)
  if (near === undefined || isOver(near)) return undefined
  const content = writtenSince(event, last)
  return content === undefined || isOver(content) ? undefined : summaryIn(content)
}

const ANSWER = '"assistant"'
const isAnswer = (line: JsonObject): boolean => line["type"] === "assistant" && line["isSidechain"] !== true

/** The beginning of what stands behind a compaction; undefined if there is no transcript. */
export const writtenSince = (
  { transcript }: HookEvent,
  { offset }: FoundCompaction,
  within = SUMMARY_WITHIN,
): Buffer | undefined => (transcript === undefined ? undefined : readPart(transcript, offset, within))
