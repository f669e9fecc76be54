/** The archive in numbers, counted on request. */
import { readdirSync, statSync } from "node:fs"
import { CtxError, codeOf, EXIT, messageOf, VIEWS_LOST } from "../util/errors.ts"
import { join } from "../util/path.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { type Backlog, backlog } from "./backlog.ts"
import { isOutdated } from "./completeness.ts"
import { databasePath } from "./database.ts"
import { openForReading } from "./open-for-reading.ts"
import { type CountedSession, listSessions, withUse } from "./queries/sessions.ts"
import { type Totals, totals } from "./queries/totals.ts"
import { lastRepair, type ViewsRepair } from "./repairs.ts"
import { type WordTotals, wordTotals } from "./word-index.ts"

const LATEST = 10

export interface ArchiveStatus {
  readonly vault: {
    readonly files: number
    readonly bytes: number
    /** Why it cannot be examined; the numbers then mean nothing. */
    readonly problem: string | null
  }
  /** Bytes on disk of each part. `other` is markers, sessions' state, logs, and kept copies of damaged databases. */
  readonly disk: {
    readonly vault: number
    readonly database: number
    readonly wal: number
    readonly other: number
    /** Bytes of vault and views per byte of transcript in them; null while there are none. */
    readonly ratio: number | null
  }
  /** When the views were last rebuilt because they were damaged or lost. */
  readonly lastRepair: ViewsRepair | null
  readonly database: {
    /** On disk, with its journal. */
    readonly bytes: number
    /** The views must be rebuilt, but nobody has had the time. */
    readonly lost: boolean
    /** Why it cannot be read. */
    readonly problem: string | null
  }
  /** null if there is nothing that can be read. */
  readonly totals: Totals | null
  readonly behind: Backlog | null
  /** Index of words; null if there is nothing that can be read. */
  readonly index:
    | (WordTotals & {
        /** Nothing that is archived is missing in it. */
        readonly complete: boolean
        /** An earlier version made the views, and they are used until the background job has made them anew. */
        readonly outdated: boolean
      })
    | null
  /** The latest, newest first. */
  readonly sessions: readonly CountedSession[]
}

/** Never fails because something is missing or broken, as its purpose is to tell that. */
export function readStatus(dataHome: string): ArchiveStatus {
  // First, because reading the views may repair them and change the sizes.
  const { problem, lost, ...views } = readViews(dataHome)
  const vault = readVault(dataHome)
  const disk = diskOf(dataHome, vault.bytes, views.totals?.archivedBytes ?? 0)
  const database = { bytes: disk.database + disk.wal, problem, lost }
  return { vault, database, disk, lastRepair: lastRepair(dataHome) ?? null, ...views }
}

function readVault(dataHome: string): ArchiveStatus["vault"] {
  try {
    const files = vaultFiles(dataHome)
    return { files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0), problem: null }
  } catch (error) {
    return { files: 0, bytes: 0, problem: messageOf(error) }
  }
}

type Views = Pick<ArchiveStatus, "totals" | "behind" | "index" | "sessions"> &
  Pick<ArchiveStatus["database"], "problem" | "lost">

function readViews(dataHome: string): Views {
  const none = { totals: null, behind: null, index: null, sessions: [] }
  try {
    const db = openForReading(dataHome)
    try {
      const behind = backlog(db)
      const words = wordTotals(db)
      const outdated = isOutdated(db)
      const followed = behind.views.transcripts === 0 && !outdated
      return {
        totals: totals(db),
        behind,
        index: { ...words, complete: followed && words.indexed + words.cold === words.messages, outdated },
        sessions: withUse(db, listSessions(db, { spoken: true, limit: LATEST })),
        problem: null,
        lost: false,
      }
    } finally {
      db.close()
    }
  } catch (error) {
    const isNew = error instanceof CtxError && error.exit === EXIT.notFound
    return { ...none, problem: isNew ? null : messageOf(error), lost: codeOf(error) === VIEWS_LOST }
  }
}

function diskOf(dataHome: string, vault: number, archived: number): ArchiveStatus["disk"] {
  const path = databasePath(dataHome)
  const database = sizeOf(path)
  const wal = sizeOf(`${path}-wal`) + sizeOf(`${path}-shm`)
  const other = Math.max(0, bytesBelow(dataHome) - vault - database - wal)
  const ratio = archived === 0 ? null : (vault + database + wal) / archived
  return { vault, database, wal, other, ratio }
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    // It is missing, or something above it is not a folder.
    return 0
  }
}

function bytesBelow(folder: string): number {
  try {
    return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
      const path = join(folder, entry.name)
      return sum + (entry.isDirectory() ? bytesBelow(path) : entry.isFile() ? sizeOf(path) : 0)
    }, 0)
  } catch {
    return 0
  }
}
