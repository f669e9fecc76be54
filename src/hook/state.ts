/**
 * What hooks remember between two events of a session: a small file each, replaced as a whole.
 *
 * A file, because opening the database costs a hook 2 ms and these must not (docs/adr/0003). Losing one loses a
 * convenience, never a turn.
 */

import { changingSessions, sessionFolder } from "../archive/session-files.ts"
import type { ContextState } from "../autopilot/context.ts"
import { codeOf } from "../util/errors.ts"
import { readReplaced, replaceSoon, tryTo, writePrivate } from "../util/files.ts"
import { linkSync, readFileSync, unlinkSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

export interface SessionState {
  /** The last human prompt. */
  readonly prompt?: string
  /** Bytes of the transcript when it came: its own line follows them. */
  readonly promptAt?: number
  /** Whether it has not been answered to the end. */
  readonly promptOpen?: boolean
  /** When a compaction was announced, in ms since the epoch; it may not follow. */
  readonly compactTime?: number
  /** Bytes of the transcript at that moment; of an unannounced one, where it stands. */
  readonly compactAt?: number
  /** Nobody announced it: it was found in the transcript, at `compactTime`. */
  readonly unannounced?: boolean
  /** Bytes of the transcript that were looked through for compactions. */
  readonly seenAt?: number
  /** A compaction was answered that the transcript has not been seen to hold. */
  readonly boundaryDue?: boolean
  /** What the user has asked it to mind. */
  readonly focus?: string
  /** The host's own summary of that compaction. */
  readonly summary?: string
  /** When context was last given back, in ms since the epoch. */
  readonly restoreTime?: number
  /** That context, while the conversation has not been seen to hold it. */
  readonly delivery?: Delivery
  /** Bytes of the transcript when the host last took it up again (archive/session-files.ts reads it, too). */
  readonly resumedAt?: number
  /** When the session began, in ms since the epoch. */
  readonly startTime?: number
  /** Bytes of the transcript that were archived when a job was last started to index them. */
  readonly jobAt?: number
  /** How full the window is. */
  readonly context?: ContextState
}

/** A restore that was given at a session's start. */
export interface Delivery {
  /** Bytes of the transcript at that moment: the host tells of it behind them. */
  readonly at: number
  /** ms since the epoch. */
  readonly time: number
}

/** A compaction was announced or found, and the host has not started the session anew since. It may not have happened. */
export function compactionUnanswered({ compactTime, restoreTime = 0 }: SessionState): boolean {
  return compactTime !== undefined && restoreTime < compactTime
}

// The system's clock may be set back between two calls. So a compaction is dated after the last answer, whatever the clock
// says, and its answer not before it.

/** The time of a compaction that was announced or found just now, in ms since the epoch. */
export const announcedAt = ({ restoreTime = 0 }: SessionState, now: number): number =>
  Math.max(now, restoreTime + 1)

/** The time of its answer. */
export const answeredAt = ({ compactTime = 0 }: SessionState, now: number): number =>
  Math.max(now, compactTime)

const sessionFile = (dataHome: string, session: string): string =>
  join(sessionFolder(dataHome), `${session}.json`)

export function readState(dataHome: string, session: string): SessionState {
  return (readReplaced(sessionFile(dataHome, session), readJson) as SessionState | undefined) ?? {}
}

/**
 * What a call has made of the state that it had read, on top of what another one has written meanwhile: hooks of several
 * settings files are called at once, and one of them notes what it has given back.
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

/** Writes what `withChanges` makes of the state on the disk; no other hook writes it meanwhile. */
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

/** Whether this call is the first about the session's start: hooks of several settings files are called for it. */
export function claimStart(dataHome: string, session: string, now: number): boolean {
  const file = sessionFile(dataHome, session)
  const own = `${file}.${process.pid}`
  try {
    // Linked, not created: whoever finds the file finds it whole.
    writePrivate(own, JSON.stringify({ startTime: now } satisfies SessionState))
    linkSync(own, file)
    unlinkSync(own)
    return true
  } catch (error) {
    tryTo(() => unlinkSync(own))
    // Where nothing can be written, answering twice is better than not at all.
    if (codeOf(error) !== "EEXIST") return true
    return changingSessions(dataHome, () => {
      const state = readState(dataHome, session)
      if (Math.abs(now - (state.startTime ?? 0)) < SAME_EVENT) return false
      writeState(dataHome, session, { ...state, startTime: now })
      return true
    })
  }
}

/** ms within which two calls of the same kind are about the same event. */
export const SAME_EVENT = 500

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch {
    return undefined
  }
}
