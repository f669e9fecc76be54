/** A compaction that was given nothing back for when it happened: told from the views, at the prompt after it. */
import type { Database } from "../archive/database.ts"
import { summaryIn } from "../transcript/summary.ts"
import { closeSync } from "../util/fs.ts"
import { readExactly } from "../vault/file.ts"
import { openSource } from "../vault/original.ts"
import type { HookEvent } from "./event.ts"
import type { SessionState } from "./state.ts"

export interface Compaction {
  /** In the transcript, in bytes. */
  readonly offset: number
  /** ISO 8601, as the host says. */
  readonly time: string | null
}

/** Bytes behind a compaction within which its summary begins and ends. */
const SUMMARY_WITHIN = 1 << 20
/** ms that may lie between a restore at a session's start and the time that the host gives to the compaction. */
const HOOKS_LAST = 10 * 60_000

/** The last one from `offset` on. */
export function lastCompaction(db: Database, session: string, offset = 0): Compaction | undefined {
  return (
    db
      .query<Compaction, [string, number]>(
        'SELECT "offset", time FROM boundaries WHERE session = ? AND "offset" >= ? ORDER BY "offset" DESC LIMIT 1',
      )
      .get(session, offset) ?? undefined
  )
}

/** The compaction of which the state says that nobody has answered it; undefined when there was none, or somebody has. */
export function missedCompaction(
  db: Database,
  session: string,
  { compactAt, unannounced }: SessionState,
): Compaction | undefined {
  const last = lastCompaction(db, session, compactAt)
  if (last === undefined) return undefined
  // What was announced was seen by hooks; else their notes may be lost, and the views know more.
  return unannounced === true && isAnswered(db, session, last) ? undefined : last
}

/** Whether something was given back for it, as far as the views tell; in doubt it was. */
function isAnswered(db: Database, session: string, { offset, time }: Compaction): boolean {
  const before = db
    .query<{ offset: number | null }, [string, number]>(
      'SELECT max("offset") AS "offset" FROM boundaries WHERE session = ? AND "offset" < ?',
    )
    .get(session, offset)
  const former = before?.offset ?? -1
  // Without a time, any counts.
  const since = (Date.parse(time ?? "") || 0) - HOOKS_LAST
  return db
    .query<{ mark: string; time: number }, [string]>(
      "SELECT mark, time FROM restores WHERE session = ? AND source = 'compact'",
    )
    .all(session)
    .some((given) => {
      const [place, bytes] = given.mark.split(" ")
      if (place !== "near" && Number(bytes) > offset) return true
      // At a session's start, before the host had written it down; at a prompt, for the one before.
      if (place === "late" || given.time < since) return false
      return place === "near" || Number(bytes) > former
    })
}

/** The host's summary, where no hook was told. */
export function summaryBehind({ transcript }: HookEvent, { offset }: Compaction): string | undefined {
  const source = transcript === undefined ? undefined : openSource(transcript)
  if (source === undefined) return undefined
  try {
    const length = Math.min(source.stats.size - offset, SUMMARY_WITHIN)
    return length > 0 ? summaryIn(readExactly(source.fd, offset, length)) : undefined
  } finally {
    closeSync(source.fd)
  }
}
