/** Rows of transcripts: how far the views have followed a copy. More in transcript-rows.ts. */
import { placeBeside } from "../../agents/layouts.ts"
import { isFetchedCopy, isSuperseded } from "../../vault/layout.ts"
import type { Database } from "../database.ts"

/** @param copy its path below `vault/` */
export const isCopyIndexed = (db: Database, copy: string): boolean =>
  db.query("SELECT 1 FROM transcripts WHERE copy = ? AND indexed > 0").get(copy) !== null

/**
 * Bytes in the vault of each transcript as it is now, by its path: not of what it was before it was rewritten, and not of
 * copies that are gone.
 */
export function archivedByPath(db: Database): Map<string, number> {
  const rows = db
    .query<{ path: string; copy: string; archived: number }, []>(
      "SELECT path, copy, archived FROM transcripts",
    )
    .iterate()
  const found = new Map<string, number>()
  for (const { path, copy, archived } of rows) {
    if (copy.endsWith(".zst") && !isSuperseded(copy) && !isFetchedCopy(copy)) found.set(path, archived)
  }
  return found
}

/** Paths of the files beside their session's transcript that hold outputs of these subagents. */
export function outputsOfSubagents(db: Database, sessions: readonly string[]): Map<string, string[]> {
  const found = db.query<{ path: string }, [string]>(
    `SELECT DISTINCT c.path FROM turns t CROSS JOIN messages m ON m.turn = t.id
       CROSS JOIN transcripts c ON c.id = m.transcript
     WHERE t.session = ? AND c.session <> t.session`,
  )
  const subagents = sessions.filter((session) => session.includes("/"))
  return new Map(
    subagents.map((session) => [
      session,
      found
        .all(session)
        .map(({ path }) => path)
        .filter((path) => placeBeside(path) !== undefined),
    ]),
  )
}

/** @param copyId the `id` in the copy's header */
export const indexedBytes = (db: Database, copyId: string): number | undefined =>
  db.query<{ indexed: number }, [string]>("SELECT indexed FROM transcripts WHERE copy_id = ?").get(copyId)
    ?.indexed

/**
 * Whether the views have followed a copy past one of these stretches, and hold nothing of it.
 *
 * @param id of the copy
 */
export function lacksAny(
  db: Database,
  id: string,
  stretches: readonly (readonly [from: number, to: number])[],
): boolean {
  const row = db
    .query<{ id: number; indexed: number }, [string]>("SELECT id, indexed FROM transcripts WHERE copy_id = ?")
    .get(id)
  const held = db.query<{ n: number }, [number, number, number]>(
    "SELECT count(*) AS n FROM messages WHERE transcript = ? AND offset >= ? AND offset < ?",
  )
  return stretches.some(
    ([from, to]) => row !== null && row.indexed > from && held.get(row.id, from, to)?.n === 0,
  )
}
