/**
 * Finds compactions in the transcript for which the session was given nothing back. Usually a hook has answered before
 * the host writes the compaction down. If none was called (hooks were off or too slow, or the host ended), only the
 * transcript tells of it. Looks at new bytes only, and reads no file as long as hooks have seen them all arrive.
 */

import type { Taken } from "../archive/capture-transcript.ts"
import { compactionOffsets } from "../claude/glance.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"
import { announcedAt, compactionUnanswered, type SessionState } from "./state.ts"

/** Bytes to read at the end of the transcript when another process archived the new part. */
const LOOKED_AT = 2 << 20

/**
 * Notes the last compaction without an answer, so that the next prompt makes up for it.
 *
 * @param before as the last hook left it
 * @param state with what this event adds
 * @param own what was taken of the session's own transcript
 * @param now ms since the epoch
 */
export function withCompactions(
  event: HookEvent,
  before: SessionState,
  state: SessionState,
  own: Taken | undefined,
  now: number,
): SessionState {
  if (own === undefined) return state
  // Rewritten by the host: the bytes already searched have moved, so nobody can tell which compactions are new.
  // Where another process has archived it since, only its length may show that.
  const { superseded, archived } = own.captured
  if (superseded !== undefined || (before.seenAt ?? 0) > archived) return { ...state, seenAt: archived }
  const offsets = newCompactions(event, before, own)
  const last = offsets[offsets.length - 1]
  // Bytes without a compaction may be looked at again, so they are no reason to write the state.
  const seen = state === before && last === undefined ? state : { ...state, seenAt: archived }
  if (last === undefined) return seen
  const { boundaryDue, ...rest } = seen
  const answered = boundaryDue === true ? 1 : 0
  // This hook answers it, another one has, or the next prompt already has one to answer.
  if (event.source === "compact" || offsets.length === answered || compactionUnanswered(before)) return rest
  return event.name === "pre-compact"
    ? { ...rest, compactAt: last }
    : { ...rest, compactTime: announcedAt(rest, now), compactAt: last, unannounced: true }
}

/**
 * State after a restore at a session's start. The host writes the compaction down only after that.
 *
 * @param seen whether the transcript already holds it
 */
export const withBoundaryDue = (state: SessionState, seen: boolean): SessionState => {
  const { boundaryDue: _former, unannounced: _answered, ...rest } = state
  return seen ? rest : { ...rest, boundaryDue: true }
}

/** Offsets in the transcript. */
export function newCompactions(event: HookEvent, before: SessionState, own: Taken): number[] {
  const known = before.seenAt ?? before.promptAt
  const from = known ?? 0
  const { archived } = own.captured
  const [first] = own.fresh
  const isGap = archived > from && (first === undefined || first.from > from)
  // A session that hooks have never seen may be old, so only the bytes taken now are searched.
  if (isGap && known !== undefined && event.name === "user-prompt-submit") return compactionsFrom(own, from)
  const found: number[] = []
  for (const stretch of own.fresh)
    for (const offset of compactionOffsets(stretch.content)) {
      if (stretch.from + offset >= from) found.push(stretch.from + offset)
    }
  return found
}

/** Offsets of compactions, read from the transcript itself. */
function compactionsFrom({ path, captured }: Taken, from: number): number[] {
  const found: number[] = []
  withSource(path, (fd, size) => {
    const end = Math.min(captured.archived, size)
    const begin = Math.max(from, end - LOOKED_AT)
    for (const offset of compactionOffsets(readExactly(fd, begin, end - begin))) found.push(begin + offset)
  })
  return found
}
