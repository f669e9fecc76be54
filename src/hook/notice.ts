/**
 * Finds compactions in the transcript for which the session was given nothing back. Usually a hook has answered before
 * Claude Code writes the compaction down. If none was called (hooks were off or too slow, or Claude Code ended), only
 * the transcript tells of it. Looks at new bytes only, and reads no file as long as hooks have seen them all arrive.
 */

import { answersLate } from "../record/hook-event.ts"
import { NEWLINE } from "../record/lines-with.ts"
import type { Taken } from "../vault/capture.ts"
import type { Stretch } from "../vault/reader.ts"
import { readPart } from "../vault/source-file.ts"
import type { Added, HookCall } from "./call.ts"
import { announcedAt, isUnanswered } from "./state.ts"

/** Bytes to read at the end of the transcript when another process archived the new part, and the line they begin in. */
const LOOKED_AT = 2 << 20
/** Of a line that long, the end is read alone. */
const LONGEST = 16 << 20
const FIRST_STEP = 64 << 10

/** Notes the last compaction without an answer, so that the next prompt makes up for it. */
export function noticeCompactions(call: HookCall): Added | undefined {
  const { event, before, state, own, now } = call
  if (own === undefined) return undefined
  const { superseded, archived } = own.captured
  const { compactions, isWhole } = newCompactions(call, own)
  // Rewritten by Claude Code: the bytes already searched have moved, so nobody can tell which compactions are new.
  // Where another process has archived it since, only its length may show that.
  if (superseded !== undefined || (before.seenAt ?? 0) > archived)
    return { compactions, state: { ...state, seenAt: archived } }
  const last = compactions[compactions.length - 1]
  // Bytes without a compaction may be looked at again, so they are no reason to write the state.
  if (last === undefined)
    return state === before || !isWhole ? undefined : { state: { ...state, seenAt: archived } }
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

interface NewCompactions {
  /** Offsets in the transcript. */
  readonly compactions: readonly number[]
  /** Whether all that is new was looked at, or need not be. */
  readonly isWhole: boolean
}

function newCompactions({ event, form, before, made }: HookCall, own: Taken): NewCompactions {
  const { path, captured, fresh } = own
  const known = before.seenAt ?? before.promptAt
  const from = known ?? 0
  const { archived } = captured
  const isGap = archived > from && (fresh[0] === undefined || fresh[0].from > from)
  // A session that hooks have never seen may be old, so only the bytes taken now are searched.
  const isMissing = isGap && known !== undefined
  const isRead = isMissing && answersLate(event)
  const end = isRead ? endOf(from, archived, made ?? ((at, length) => readPart(path, at, length))) : undefined
  const stretches = !isRead ? fresh : end === undefined ? [] : [end]
  const compactions: number[] = []
  for (const stretch of stretches)
    for (const offset of form.compactionOffsets(stretch.content)) {
      if (stretch.from + offset >= from) compactions.push(stretch.from + offset)
    }
  return { compactions, isWhole: isRead || !isMissing }
}

/**
 * What is looked at of the bytes between `from` and `to`. A compaction may be one line of megabytes, with all messages that
 * it has kept, so a line at the beginning is whole.
 */
export function endOf(
  from: number,
  to: number,
  read: (from: number, length: number) => Uint8Array | undefined,
): Stretch | undefined {
  let begin = Math.max(from, to - LOOKED_AT)
  for (let step = FIRST_STEP; begin > from && to - begin < LONGEST; step *= 2) {
    const back = Math.max(from, begin - step)
    const newline = read(back, begin - back)?.lastIndexOf(NEWLINE) ?? -1
    begin = newline < 0 ? back : back + newline + 1
    if (newline >= 0) break
  }
  const content = read(begin, to - begin)
  return content && { from: begin, content }
}

/** Whether it is open if the last restore has reached the conversation. */
export const mayBeLost = ({ event, form, state, found, settings }: HookCall): boolean =>
  found !== undefined &&
  form.other === undefined &&
  (state.delivery !== undefined || (event.name === "user-prompt-submit" && isUnanswered(state))) &&
  settings.resolved.config["restore.enabled"]
