/**
 * Finds compactions in the transcript for which the session was given nothing back. Usually a hook has answered before
 * Claude Code writes the compaction down. If none was called (hooks were off or too slow, or Claude Code ended), only
 * the transcript tells of it. Looks at new bytes only, and reads no file as long as hooks have seen them all arrive.
 */

import { answersLate } from "../record/hook-event.ts"
import type { Taken } from "../vault/capture-transcript.ts"
import { readPart } from "../vault/read-part.ts"
import type { Added, HookCall } from "./call.ts"
import { announcedAt, isUnanswered } from "./state.ts"

/** Bytes to read at the end of the transcript when another process archived the new part. */
const LOOKED_AT = 2 << 20

/** Notes the last compaction without an answer, so that the next prompt makes up for it. */
export function noticeCompactions(call: HookCall): Added | undefined {
  const { event, before, state, own, now } = call
  if (own === undefined) return undefined
  const { superseded, archived } = own.captured
  const compactions = newCompactions(call, own)
  // Rewritten by Claude Code: the bytes already searched have moved, so nobody can tell which compactions are new.
  // Where another process has archived it since, only its length may show that.
  if (superseded !== undefined || (before.seenAt ?? 0) > archived)
    return { compactions, state: { ...state, seenAt: archived } }
  const last = compactions[compactions.length - 1]
  // Bytes without a compaction may be looked at again, so they are no reason to write the state.
  if (last === undefined) return state === before ? undefined : { state: { ...state, seenAt: archived } }
  const { boundaryDue, ...rest } = state
  const seen = { ...rest, seenAt: archived }
  const answered = boundaryDue ? 1 : 0
  // This hook answers it, another one has, or the next prompt already has one to answer.
  if (event.source === "compact" || compactions.length === answered || isUnanswered(before))
    return { compactions, state: seen }
  if (event.name !== "pre-compact") {
    const found = { compactTime: announcedAt(seen, now), compactAt: last, unannounced: true } as const
    return { compactions, state: { ...seen, ...found } }
  }
  // The one just announced, unless it was refused.
  return { compactions, state: seen.compactTime === undefined ? seen : { ...seen, compactAt: last } }
}

/** Offsets in the transcript. */
function newCompactions({ event, form, before, made }: HookCall, { path, captured, fresh }: Taken): number[] {
  const known = before.seenAt ?? before.promptAt
  const from = known ?? 0
  const { archived } = captured
  const isGap = archived > from && (fresh[0] === undefined || fresh[0].from > from)
  let stretches = fresh
  // A session that hooks have never seen may be old, so only the bytes taken now are searched.
  if (isGap && known !== undefined && answersLate(event)) {
    const begin = Math.max(from, archived - LOOKED_AT)
    const content = (made ?? ((at, length) => readPart(path, at, length)))(begin, archived - begin)
    stretches = content === undefined ? [] : [{ from: begin, content }]
  }
  const found: number[] = []
  for (const stretch of stretches)
    for (const offset of form.compactionOffsets(stretch.content)) {
      if (stretch.from + offset >= from) found.push(stretch.from + offset)
    }
  return found
}

/** Whether it is open if the last restore has reached the conversation. */
export const mayBeLost = ({ event, form, state, found, settings }: HookCall): boolean =>
  found !== undefined &&
  form.other === undefined &&
  (state.delivery !== undefined || (event.name === "user-prompt-submit" && isUnanswered(state))) &&
  settings.resolved.config["restore.enabled"]
