/**
 * Compactions that stand in the transcript, and whether the session was given something back for each. As a rule a hook
 * has answered it before the host writes it down. Where none was called (hooks were off, or too slow; the host ended),
 * only these lines tell of it. Looks at what is new, and reads nothing else as long as hooks have seen all of it come.
 */
import type { Taken } from "../archive/take.ts"
import { compactionOffsets } from "../transcript/glance.ts"
import { closeSync } from "../util/fs.ts"
import { readExactly } from "../vault/file.ts"
import { openSource } from "../vault/original.ts"
import type { HookEvent } from "./event.ts"
import { announcedAt, compactionUnanswered, type SessionState } from "./state.ts"

/** Bytes at the end of the transcript that are looked at where somebody else has archived what is new. */
const LOOKED_AT = 2 << 20

/**
 * Notes the last compaction that nothing was given back for: the next prompt makes up for it.
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
  // Written anew: what was looked through stands elsewhere now, and what is new in it nobody can tell.
  if (own.captured.superseded !== undefined) return { ...state, seenAt: own.captured.archived }
  const offsets = newCompactions(event, before, own)
  const last = offsets[offsets.length - 1]
  // Bytes that hold none may be looked at again: then the state need not be written for them.
  const seen = state === before && last === undefined ? state : { ...state, seenAt: own.captured.archived }
  if (last === undefined) return seen
  const { boundaryDue, ...rest } = seen
  const answered = boundaryDue === true ? 1 : 0
  // This hook answers it, or another has, or the next prompt is to answer one already.
  if (event.source === "compact" || offsets.length === answered || compactionUnanswered(before)) return rest
  return event.name === "pre-compact"
    ? { ...rest, compactAt: last }
    : { ...rest, compactTime: announcedAt(rest, now), compactAt: last, unannounced: true }
}

/**
 * After a restore at a session's start: the host writes the compaction down a moment later, and only then.
 *
 * @param seen whether it stands there already
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
  // A session that hooks have never heard of may be old: only what comes in with them is looked at.
  if (isGap && known !== undefined && event.name === "user-prompt-submit") return compactionsFrom(own, from)
  const found: number[] = []
  for (const stretch of own.fresh)
    for (const offset of compactionOffsets(stretch.content)) {
      if (stretch.from + offset >= from) found.push(stretch.from + offset)
    }
  return found
}

/** As the transcript itself has them. */
function compactionsFrom({ path, captured }: Taken, from: number): number[] {
  const source = openSource(path)
  if (source === undefined) return []
  try {
    const end = Math.min(captured.archived, source.stats.size)
    const begin = Math.max(from, end - LOOKED_AT)
    const found: number[] = []
    for (const offset of compactionOffsets(readExactly(source.fd, begin, end - begin)))
      found.push(begin + offset)
    return found
  } finally {
    closeSync(source.fd)
  }
}
