/**
 * What hooks remember between two events: a small file per session, and one per project of the sessions that `/clear`
 * ended. Always replaced as a whole.
 *
 * They are files because opening the database costs a hook 2 ms, too much for these (docs/adr/0003). If one is lost, a
 * convenience is lost, never a turn.
 */

import { replaceSoon, tryTo } from "../base/files.ts"
import { existsSync, readFileSync, unlinkSync } from "../base/fs.ts"
import { hashName, readJson, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { claudeProcess } from "../config/load.ts"
import type { ContextState } from "../restore/window/context-state.ts"
import { changingSessions, readSession, sessionFile, sessionFolder } from "../views/session-files.ts"

/** As its file has it, since the first version: what goes together side by side. Unknown fields stay as they are. */
export type SessionState = Prompted & Compacted & Answered & Standing

type Absent<Names extends string> = { readonly [name in Names]?: never }

/** The last human prompt. */
type Prompted =
  | {
      readonly prompt: string
      /** Size of the transcript in bytes when it arrived; its own line comes after that. */
      readonly promptAt: number
      /** Whether the answer to it is still incomplete. */
      readonly promptOpen: boolean
    }
  | Absent<"prompt" | "promptAt" | "promptOpen">

/** The last compaction that hooks were told of or have found. */
type Compacted =
  | {
      /** When it was announced, in ms since the epoch. It may never have happened. */
      readonly compactTime: number
      /** Size of the transcript in bytes at that moment; for an unannounced compaction, its offset. */
      readonly compactAt: number
      /** Nobody announced it: it was found in the transcript, at `compactTime`, and not answered since. */
      readonly unannounced?: true
    }
  | Absent<"compactTime" | "compactAt" | "unannounced">

/** The last answer to a compaction: to this one if it is not older, or else to an earlier one. */
type Answered =
  | {
      /** When context was given back, in ms since the epoch. */
      readonly restoreTime: number
      /** No human prompt has come since: the next may ask for what is missing. */
      readonly recallDue?: true
      /** The compaction has not been seen in the transcript yet. */
      readonly boundaryDue?: true
    }
  | Absent<"restoreTime" | "recallDue" | "boundaryDue">

/** What depends on nothing else. */
interface Standing {
  /** The user's instructions for the compaction, until it is answered. */
  readonly focus?: string
  /** What was printed at `/compact`, which Claude Code adds to the new context, until the compaction is answered. */
  readonly printed?: string
  /** Claude Code's own summary of the compaction, until it is answered. */
  readonly summary?: string
  /** A restore given at a session's start, until it has been seen in the conversation. */
  readonly delivery?: Delivery
  /** Bytes of the transcript already searched for compactions. */
  readonly seenAt?: number
  /** A compaction was refused, which is done once. */
  readonly refused?: true
  /** When our plugin last answered a compaction, in ms since the epoch; until Claude Code announces one of its own. */
  readonly compactedByPlugin?: number
  /** Size of the transcript in bytes when Claude Code last resumed it. views/session-files.ts reads this, too. */
  readonly resumedAt?: number
  /** When the session began, in ms since the epoch. */
  readonly startTime?: number
  /** Bytes of the transcript archived when a job was last started to index them. */
  readonly jobAt?: number
  /** Actions of which the model was reminded, by the hashes of their names. */
  readonly reminded?: readonly string[]
  /** How full the window is. */
  readonly context?: ContextState
}

export interface Delivery {
  /** Size of the transcript in bytes at that moment; Claude Code records the restore after it. */
  readonly at: number
  /** ms since the epoch. */
  readonly time: number
}

/** Whether a compaction was announced or found, and not answered since. It may not have happened. */
export function isUnanswered({ compactTime, restoreTime = 0 }: SessionState): boolean {
  return compactTime !== undefined && restoreTime < compactTime
}

// The clock may be set back between two calls. So a compaction is dated after the last answer, and its own answer not
// before it.

/** Date of a newly announced or found compaction, in ms since the epoch. */
export const announcedAt = ({ restoreTime = 0 }: SessionState, now: number): number =>
  Math.max(now, restoreTime + 1)

type AnsweredState = SessionState & { readonly restoreTime: number }

/** @param now ms since the epoch */
export function withAnswer(state: SessionState, now: number): AnsweredState {
  const { unannounced: _answered, ...rest } = state
  return { ...rest, restoreTime: Math.max(now, state.compactTime ?? 0) }
}

/**
 * With a compaction answered at the session's start. Claude Code writes it down only after that.
 *
 * @param compactions those that the transcript holds already
 */
export function withStartAnswered(
  state: SessionState,
  now: number,
  compactions: readonly number[],
): SessionState {
  const { boundaryDue: _former, ...rest } = withAnswer(state, now)
  const next = { ...rest, recallDue: true } as const
  return compactions.length > 0 ? next : { ...next, boundaryDue: true }
}

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
  // A new prompt is new as a whole, and the end of an answer closes no prompt but its own.
  const whole = isOther(before, after) ? after : isOther(before, latest) ? latest : merged
  const { prompt, promptAt, promptOpen } = whole
  return { ...merged, prompt, promptAt, promptOpen } as SessionState
}

const isOther = (one: SessionState, other: SessionState): boolean =>
  one.prompt !== other.prompt || one.promptAt !== other.promptAt

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

/** Calls of the same kind within this many ms are about the same event. */
export const SAME_EVENT = 500

// Sessions that `/clear` ended and no session has continued yet. Claude Code reports the end and the new beginning in
// two calls that do not name each other's session; all they have in common is Claude Code's process.

/** ms within which a session continues one that `/clear` ended. */
export const CLEAR_LASTS = 5 * 60_000
/** The same for versions of Claude Code that report the session after `/clear` as `startup`. */
export const SILENT_CLEAR_LASTS = 15_000

interface Clear {
  readonly session: string
  /** ms since the epoch. */
  readonly time: number
  /** The process of Claude Code, or of another agent. */
  readonly host: number
}

/** One file per project and agent. `views/session-traces.ts` also knows its name. */
const clearFile = (dataHome: string, project: string, agent?: string): string =>
  join(sessionFolder(dataHome), `clear-${hashName(agent ? `${agent} ${project}` : project)}.json`)

/**
 * Records that `/clear` ended this session, so that the next one of the same project and process continues it.
 *
 * @param now ms since the epoch
 * @param agent another than Claude Code: whatever ended its session, as it may have been `/clear`
 */
export function rememberClear(
  dataHome: string,
  project: string,
  session: string,
  now: number,
  agent?: string,
): void {
  const file = clearFile(dataHome, project, agent)
  changingSessions(dataHome, () => {
    const others = clearsIn(file).filter((one) => one.session !== session && one.time >= now - CLEAR_LASTS)
    writeJson(file, [...others, { session, time: now, host: ownHost(agent) } satisfies Clear])
  })
}

/**
 * The session that `/clear` ended and no session has continued.
 *
 * @param since ms since the epoch; older ones are ignored
 */
export const clearedSession = (
  dataHome: string,
  project: string,
  since: number,
  agent?: string,
): string | undefined => chosen(clearsIn(clearFile(dataHome, project, agent)), since, agent)?.session

export const isCleared = (dataHome: string, project: string, since: number, agent?: string): boolean =>
  clearsIn(clearFile(dataHome, project, agent)).some(({ time }) => time >= since)

/** Like `clearedSession`, but each session is returned only once. */
export function claimClear(
  dataHome: string,
  project: string,
  since: number,
  agent?: string,
): string | undefined {
  const file = clearFile(dataHome, project, agent)
  if (!existsSync(file)) return undefined
  return changingSessions(dataHome, () => {
    const clears = clearsIn(file)
    const clear = chosen(clears, since, agent)
    if (clear === undefined) return undefined
    const others = clears.filter((one) => one !== clear)
    // If that fails, another session was faster.
    return tryTo(() => {
      if (others.length > 0) writeJson(file, others)
      else unlinkSync(file)
      return clear.session
    })
  })
}

/**
 * Prefers the latest of our own Claude Code. Falls back to any, because it may have been restarted or may call us
 * through an unknown program. Not so for other agents: they do not say why a session ended, and what another process
 * has ended was most likely just left.
 */
function chosen(clears: readonly Clear[], since: number, agent: string | undefined): Clear | undefined {
  const open = clears.filter(({ time }) => time >= since)
  const host = ownHost(agent)
  return open.findLast((one) => one.host === host) ?? (agent ? undefined : open.at(-1))
}

function clearsIn(file: string): readonly Clear[] {
  const clears = readJson(file) as readonly Clear[] | Clear | undefined
  if (clears === undefined) return []
  return Array.isArray(clears) ? clears : [clears as Clear]
}

/** The process that called this hook. Versions of Claude Code up to 2.1.112 do not tell, and call through a shell. */
function ownHost(agent: string | undefined): number {
  const parent = process.ppid
  // Another agent may have been started by Claude Code. Not every system has such files.
  return (agent ? undefined : claudeProcess()) ?? tryTo(() => callerOf(parent)) ?? parent
}

/** A shell may replace itself with the program it starts; this one has not. */
function callerOf(parent: number): number {
  if (!readFileSync(`/proc/${parent}/cmdline`, "utf8").includes(" hook session-")) return parent
  const [, above] = readFileSync(`/proc/${parent}/stat`, "utf8").split(") ").at(-1)!.split(" ")
  return Number(above)
}
