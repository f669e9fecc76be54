/**
 * Tells whether the views hold the whole vault. Whoever opens the archive after its database was lost creates an empty
 * one, which then only learns what is archived from there on. A flag (`application_id`) tells it from one that has
 * seen every copy.
 */
import { vaultFile } from "../vault/layout.ts"
import { isPending, markPending } from "../vault/pending.ts"
import { tailOf } from "../vault/reader.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import type { Database } from "./database.ts"
import { PARSER, SEEN_ALL } from "./schema.ts"
import { sessionOfCopy } from "./view-sources.ts"

export function markComplete(db: Database): void {
  db.run(`PRAGMA application_id = ${SEEN_ALL}`)
}

/** Looks through the vault once in a database's life; afterwards this is a single read. */
export function isComplete(db: Database, dataHome: string): boolean {
  const row = db.query<{ application_id: number }, []>("PRAGMA application_id").get()
  if (row?.application_id === SEEN_ALL) return true
  for (const { copy } of vaultFiles(dataHome)) {
    // Checked in this order, because the marker is removed only after the commit.
    if (standing(db, dataHome, copy) === "unknown" && !isPending(dataHome, copy)) {
      if (standing(db, dataHome, copy) === "unknown") return false
    }
  }
  markComplete(db)
  return true
}

/** Whether another version of ctxbridge made the views: they hold the whole vault, but not all that we read in it. */
export function isOutdated(db: Database): boolean {
  const row = db.query<{ version: number | null }, []>("SELECT max(version) AS version FROM parser").get()
  return row?.version !== PARSER
}

/** How far the views have followed a copy. */
function standing(db: Database, dataHome: string, copy: string): "current" | "behind" | "unknown" {
  const tail = tailOf(vaultFile(dataHome, copy))
  const archived = tail?.last?.to ?? 0
  if (tail === undefined || archived === 0) return "current"
  const row = db
    .query<{ indexed: number }, [string, string]>(
      "SELECT indexed FROM transcripts WHERE copy = ? AND copy_id = ?",
    )
    .get(copy, tail.header.id)
  if (row === null) return "unknown"
  return row.indexed >= archived ? "current" : "behind"
}

/**
 * Marks each copy that the views have not followed to its end. Hooks' markers cover new bytes; this finds what was
 * indexed and then lost, for example when a log did not reach the disk.
 */
export function markBehind(db: Database, dataHome: string): void {
  for (const { copy } of vaultFiles(dataHome)) {
    if (standing(db, dataHome, copy) === "current") continue
    const path = tailOf(vaultFile(dataHome, copy))?.header.path
    if (path !== undefined)
      markPending(dataHome, { path, copy, session: sessionOfCopy(dataHome, copy, path) })
  }
}
