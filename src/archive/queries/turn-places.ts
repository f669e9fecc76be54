/** Where turns lie in transcripts: for whoever reads those from end to end, and wants the turn of each line. */
import { isBesideCopy } from "../../vault/layout.ts"
import type { Database } from "../database.ts"

/** A transcript as far as the views have followed it. */
export interface FollowedCopy {
  readonly id: number
  /** Below `vault/`. */
  readonly copy: string
  readonly copyId: string
  /** Bytes of the transcript. */
  readonly indexed: number
}

/** A session's transcripts and those of its subagents, without the files beside them. */
export const followedCopies = (db: Database, session: string): FollowedCopy[] =>
  db
    .query<FollowedCopy, { session: string }>(
      `SELECT id, copy, copy_id AS copyId, indexed FROM transcripts
       WHERE session = :session OR session > :session || '/' AND session < :session || '0' ORDER BY id`,
    )
    .all({ session })
    .filter(({ copy }) => !isBesideCopy(copy))

export interface TurnPlace {
  readonly handle: string
  /** Offsets of its first line, and behind its last. */
  readonly first: number
  readonly last: number
}

/** In the order of the transcript. */
export const turnPlaces = (db: Database, transcript: number): TurnPlace[] =>
  db
    .query<TurnPlace, [number]>("SELECT handle, first, last FROM turns WHERE transcript = ? ORDER BY first")
    .all(transcript)

/** The handle of the turn that a message with this key belongs to, whatever transcript had it first. */
export const handleByKey = (db: Database, key: bigint): string | undefined =>
  db
    .query<{ handle: string }, [bigint]>(
      "SELECT t.handle FROM messages m JOIN turns t ON t.id = m.turn WHERE m.key = ?",
    )
    .get(key)?.handle
