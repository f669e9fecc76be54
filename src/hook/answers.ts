/** Which hook answers an event, and what it gives: rows of `restores`, written in the reply's transaction. */
import type { Database } from "../archive/database.ts"
import { currentTranscript } from "../archive/transcripts.ts"
import type { RestoreSource } from "../restore/render.ts"
import type { HookEvent } from "./event.ts"
import { SAME_EVENT, type SessionState } from "./state.ts"

interface Call {
  readonly event: HookEvent
  readonly state: SessionState
  /** ms since the epoch. */
  readonly now: number
}

/**
 * The host calls hooks of several settings files for one event: the first of them answers. It is the same event when the
 * transcript is as long. A session is resumed, or begun, without new bytes in it, and after a compaction the host may
 * write some between the two calls: then also within half a second, unless another compaction was announced since.
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
  // What is dated later was given before the clock was set back.
  const isAnswered = (): boolean => answeredWithin(db, event.session, source, since, time + SAME_EVENT)
  if ((size === 0 || announced !== undefined) && isAnswered()) return false
  const place = event.name === "user-prompt-submit" ? "late" : "at"
  const mark = size > 0 ? `${place} ${size}` : `near ${now}`
  const added = db
    .query("INSERT OR IGNORE INTO restores (session, source, mark, time, text) VALUES (?, ?, ?, ?, '')")
    .run(event.session, source, mark, time)
  return added.changes > 0
}

function answeredWithin(
  db: Database,
  session: string,
  source: string,
  since: number,
  until: number,
): boolean {
  return (
    db
      .query("SELECT 1 FROM restores WHERE session = ? AND source = ? AND time BETWEEN ? AND ?")
      .get(session, source, since, until) !== null
  )
}

/** Notes what the answer that was claimed last gives, and returns it. */
export function rememberGiven(db: Database, session: string, text: string): string {
  db.query("UPDATE restores SET text = ? WHERE id = (SELECT max(id) FROM restores WHERE session = ?)").run(
    text,
    session,
  )
  return text
}
