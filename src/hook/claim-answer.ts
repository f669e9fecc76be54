/** Decides which hook answers an event, and records what it gives in `restores`, within the reply's transaction. */

import type { Database } from "../archive/database.ts"
import { claimGiven, isGivenBetween, keepGiven } from "../archive/queries/restores.ts"
import { slotItems } from "../archive/queries/slot-rows.ts"
import { currentTranscript } from "../archive/transcript-rows.ts"
import type { RestoreSource } from "../restore/render.ts"
import type { Slot } from "../restore/slots.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { SAME_EVENT, type SessionState } from "./state.ts"

interface Call {
  readonly event: HookEvent
  readonly state: SessionState
  /** ms since the epoch. */
  readonly now: number
}

/**
 * The host calls the hooks of several settings files for one event, and only the first may answer. Two calls are about
 * the same event when the transcript has the same length. That alone is not enough: a session is resumed or begun
 * without new bytes, and after a compaction the host may write some between the two calls. In these cases, calls less
 * than half a second apart also count as one event, unless another compaction has been announced since.
 */
export function claimAnswer(
  db: Database,
  { event, state, now }: Call,
  source: RestoreSource | "startup" | "resume",
): boolean {
  const transcript = currentTranscript(db, event.session, event.transcript)
  const size = source === "resume" ? 0 : (transcript?.archived ?? 0)
  const announced = event.source === "compact" ? state.compactTime : undefined
  const time = Math.max(now, announced ?? 0)
  const since = Math.max(now - SAME_EVENT, announced ?? 0)
  // Answers dated later were given before the clock was set back, and do not count.
  const isAnswered = (): boolean => isGivenBetween(db, event.session, source, since, time + SAME_EVENT)
  if ((size === 0 || announced !== undefined) && isAnswered()) return false
  const place = event.name === "user-prompt-submit" ? "late" : "at"
  const mark = size > 0 ? `${place} ${size}` : `near ${now}`
  return claimGiven(db, event.session, { source, mark, time })
}

/** Stores the text given with the answer claimed last, and returns it. */
export function rememberGiven(
  db: Database,
  session: string,
  text: string,
  slots: readonly Slot[] = [],
): string {
  keepGiven(db, session, text, slotItems(db, slots))
  return text
}
