/** Rows of transcripts: how far the views have followed a copy. More in transcript-rows.ts. */
import type { Database } from "../database.ts"

/** @param copy its path below `vault/` */
export const isCopyIndexed = (db: Database, copy: string): boolean =>
  db.query("SELECT 1 FROM transcripts WHERE copy = ? AND indexed > 0").get(copy) !== null

/** @param copyId the `id` in the copy's header */
export const indexedBytes = (db: Database, copyId: string): number | undefined =>
  db.query<{ indexed: number }, [string]>("SELECT indexed FROM transcripts WHERE copy_id = ?").get(copyId)
    ?.indexed
