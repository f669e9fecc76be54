/** How far an archive has come, read from outside: without the binary being measured, and without its locks. */
import { statSync } from "node:fs"
import { tryTo } from "../../base/files.ts"
import { isLockFree } from "../../base/lock.ts"
import { join } from "../../base/path.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { archivedIn } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { open } from "../../views/open.ts"
import { transcriptByCopy } from "../../views/transcript-rows.ts"

/** All in bytes of the transcript. */
export interface ArchiveState {
  readonly size: number
  /** In the vault. */
  readonly archived: number
  /** In the views. */
  readonly indexed: number
}

export function archiveState(dataHome: string, home: string, transcript: string): ArchiveState {
  const copy = vaultPath(transcript, home)
  return {
    size: statSync(transcript, { throwIfNoEntry: false })?.size ?? 0,
    archived: archivedIn(vaultFile(dataHome, copy)),
    indexed: counted(dataHome, (db) => transcriptByCopy(db, copy)?.indexed),
  }
}

/** Turns in the archive. */
export function turnsIn(dataHome: string): number {
  return counted(dataHome, (db) => db.query<{ n: number }, []>("SELECT count(*) AS n FROM turns").get()?.n)
}

/** Whether no one holds the background job's lock. */
export const jobIsIdle = (dataHome: string): boolean => isLockFree(join(dataHome, "state", "job.lock"), 0)

/** 0 if the database or its tables do not exist yet. */
function counted(dataHome: string, read: (db: Database) => number | undefined): number {
  const found = tryTo(() => {
    using db = open(dataHome, "look", 5000)
    return read(db)
  })
  return found ?? 0
}
