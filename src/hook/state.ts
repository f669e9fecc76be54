/**
 * What hooks remember between two events of a session: one small file per session, always replaced as a whole.
 *
 * It is a file because opening the database costs a hook 2 ms, too much for these (docs/adr/0003). If it is lost, a
 * convenience is lost, never a turn.
 */
import { changingSessions, readSession, sessionFile } from "../archive/session-files.ts"
import type { ContextState } from "../autopilot/context-state.ts"
import { codeOf } from "../util/errors.ts"
import { replaceSoon, tryTo, writePrivate } from "../util/files.ts"
import { linkSync, unlinkSync } from "../util/fs.ts"

export interface SessionState {
  /** The last human prompt. */
  readonly prompt?: string
  /** Size of the transcript in bytes when it arrived; its own line comes after that. */
  readonly promptAt?: number
  /** Whether the answer to it is still incomplete. */
  readonly promptOpen?: boolean
  /** When a compaction was announced, in ms since the epoch. It may never have happened. */
  readonly compactTime?: number
  /** Size of the transcript in bytes at that moment; for an unannounced compaction, its offset. */
  readonly compactAt?: number
  /** Nobody announced it: it was found in the transcript, at `compactTime`. */
  readonly unannounced?: boolean
  /** Bytes of the transcript already searched for compactions. */
  readonly seenAt?: number
  /** A compaction was answered, but has not been seen in the transcript yet. */
  readonly boundaryDue?: boolean
  /** The user's instructions for the compaction. */
  readonly focus?: string
  /** The host's own summary of that compaction. */
  readonly summary?: string
  /** A compaction was refused, which is done once. */
  readonly refused?: boolean
  /** When our plugin last answered a compaction, in ms since the epoch; until the host announces one of its own. */
  readonly compactedByPlugin?: number
  /** When context was last given back, in ms since the epoch. */
  readonly restoreTime?: number
  /** A compaction was answered, and no human prompt has come since: the next may ask for what is missing. */
  readonly recallDue?: boolean
  /** That restore, until it has been seen in the conversation. */
  readonly delivery?: Delivery
  /** Size of the transcript in bytes when the host last resumed it. archive/session-files.ts reads this, too. */
  readonly resumedAt?: number
  /** When the session began, in ms since the epoch. */
  readonly startTime?: number
  /** Bytes of the transcript archived when a job was last started to index them. */
  readonly jobAt?: number
  /** How full the window is. */
  readonly context?: ContextState
}

/** A restore given at a session's start. */
export interface Delivery {
  /** Size of the transcript in bytes at that moment; the host records the restore after it. */
  readonly at: number
  /** ms since the epoch. */
  readonly time: number
}

/** Whether a compaction was announced or found, and not answered since. It may not have happened. */
export function compactionUnanswered({ compactTime, restoreTime = 0 }: SessionState): boolean {
  return compactTime !== undefined && restoreTime < compactTime
}

// The clock may be set back between two calls. So a compaction is dated after the last answer, and its own answer not
// before it.

/** Date of a newly announced or found compaction, in ms since the epoch. */
export const announcedAt = ({ restoreTime = 0 }: SessionState, now: number): number =>
  Math.max(now, restoreTime + 1)

/** Date of the answer, in ms since the epoch. */
export const answeredAt = ({ compactTime = 0 }: SessionState, now: number): number =>
  Math.max(now, compactTime)

export const readState = (dataHome: string, session: string): SessionState =>
  (readSession(dataHome, session) as SessionState | undefined) ?? {}

/**
 * Applies the changes that a call made to the state it had read to the latest state. Hooks of several settings files
 * run at the same time, and one of them records what it has given back.
 */
export function withChanges(before: SessionState, after: SessionState, latest: SessionState): SessionState {
  const merged: Record<string, unknown> = { ...latest }
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>]
  for (const key in now) if (now[key] !== old[key]) merged[key] = now[key]
  for (const key in old) if (!(key in now)) delete merged[key]
  return merged
}

export function writeState(dataHome: string, session: string, state: SessionState): void {
  replaceSoon(sessionFile(dataHome, session), JSON.stringify(state))
}

/** Writes the result of `withChanges` for the state on disk, under a lock that keeps other hooks out. */
export function changeState(
  dataHome: string,
  session: string,
  before: SessionState,
  after: SessionState,
): void {
  changingSessions(dataHome, () =>
    writeState(dataHome, session, withChanges(before, after, readState(dataHome, session))),
  )
}

/** Whether this call is the first for the session's start: the hooks of several settings files are called for it. */
export function claimStart(dataHome: string, session: string, now: number): boolean {
  const file = sessionFile(dataHome, session)
  const own = `${file}.${process.pid}`
  try {
    // Linked rather than created, so that nobody ever reads half a file.
    writePrivate(own, JSON.stringify({ startTime: now } satisfies SessionState))
    linkSync(own, file)
    unlinkSync(own)
    return true
  } catch (error) {
    tryTo(() => unlinkSync(own))
    // If nothing can be written, answering twice is better than not at all.
    if (codeOf(error) !== "EEXIST") return true
    return changingSessions(dataHome, () => {
      const state = readState(dataHome, session)
      if (Math.abs(now - (state.startTime ?? 0)) < SAME_EVENT) return false
      writeState(dataHome, session, { ...state, startTime: now })
      return true
    })
  }
}

/** Calls of the same kind within this many ms are about the same event. */
export const SAME_EVENT = 500
