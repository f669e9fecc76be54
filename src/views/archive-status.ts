/** The archive in numbers, counted on request. */
import { codeOf, EXIT, isCtxError, messageOf, VIEWS_LOST } from "../base/errors.ts"
import { readList } from "../vault/copy-list.ts"
import { type Backlog, backlog } from "./backlog.ts"
import { isOutdated } from "./completeness.ts"
import { type Database, databasePath } from "./database.ts"
import { type DiskUse, diskUse, fileBytes } from "./disk-use.ts"
import { openCurrent } from "./open-current.ts"
import { type CountedSession, listSessions, withUse } from "./queries/sessions.ts"
import { type Totals, totals } from "./queries/totals.ts"
import { lastRepair, type ViewsRepair } from "./rebuild-views.ts"
import { goneCopies } from "./transcript-rows.ts"
import { type WordTotals, wordTotals } from "./word-index.ts"

const LATEST = 10

export interface ArchiveStatus {
  readonly vault: DiskUse["vault"]
  /** Bytes on disk of each part. `other` is markers, sessions' state, logs, and kept copies of damaged databases. */
  readonly disk: {
    readonly vault: number
    readonly database: number
    readonly wal: number
    readonly other: number
    /** Bytes of vault and views per byte of transcript in them; null while there are none. */
    readonly ratio: number | null
    /** When vault and others were counted, ISO 8601; null if just now. */
    readonly counted: string | null
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
  /** Copies that the vault has lost, as the last rebuild found; `verify` looks. */
  readonly missing: number
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

/** The archive as one command reads it: it is opened for the first that asks, and the others read on. */
export class ReadOnce implements Disposable {
  readonly dataHome: string
  #db: Database | undefined

  constructor(dataHome: string) {
    this.dataHome = dataHome
  }

  /**
   * After an error it is closed: whoever asks next opens it anew, which may repair it.
   *
   * @throws whatever `openCurrent` and `ask` throw
   */
  read<T>(ask: (db: Database) => T): T {
    this.#db ??= openCurrent(this.dataHome, "command")
    try {
      return ask(this.#db)
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Whoever asks next opens it again, and brings the views up to date. */
  close(): void {
    this.#db?.close()
    this.#db = undefined
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** What is told of views that have been read, and of the files as they are once nobody here has them open. */
export function statusWith(views: ReadViews, archive: ReadOnce, now: number): ArchiveStatus {
  const { dataHome } = archive
  // First, because reading the views may repair them, and closing them moves their log into the database.
  archive.close()
  const { problem, lost, ...read } = views
  const use = diskUse(dataHome, now)
  const disk = diskOf(dataHome, use, read.totals?.archivedBytes ?? 0, now)
  const database = { bytes: disk.database + disk.wal, problem, lost }
  return { vault: use.vault, database, disk, lastRepair: lastRepair(dataHome) ?? null, ...read }
}

/** The list is read only if there are any. */
function lostCopies(db: Database, dataHome: string): number {
  const gone = goneCopies(db)
  if (gone.length === 0) return 0
  const { accepted } = readList(dataHome)
  return gone.filter((id) => !accepted.has(id)).length
}

type ReadViews = Pick<ArchiveStatus, "totals" | "behind" | "missing" | "index" | "sessions"> &
  Pick<ArchiveStatus["database"], "problem" | "lost">

/** Never fails because something is missing or broken, as its purpose is to tell that. */
export function readViews(archive: ReadOnce): ReadViews {
  try {
    return archive.read((db) => {
      const behind = backlog(db)
      const words = wordTotals(db)
      const outdated = isOutdated(db)
      const followed = behind.views.transcripts === 0 && !outdated
      return {
        totals: totals(db),
        behind,
        missing: lostCopies(db, archive.dataHome),
        index: { ...words, complete: followed && words.indexed + words.cold === words.messages, outdated },
        sessions: withUse(db, listSessions(db, { spoken: true, limit: LATEST })),
        problem: null,
        lost: false,
      }
    })
  } catch (error) {
    const none = { totals: null, behind: null, missing: 0, index: null, sessions: [] }
    const isNew = isCtxError(error) && error.exit === EXIT.notFound
    return { ...none, problem: isNew ? null : messageOf(error), lost: codeOf(error) === VIEWS_LOST }
  }
}

function diskOf(dataHome: string, use: DiskUse, archived: number, now: number): ArchiveStatus["disk"] {
  const path = databasePath(dataHome)
  const database = fileBytes(path)
  const wal = fileBytes(`${path}-wal`) + fileBytes(`${path}-shm`)
  const vault = use.vault.bytes
  const ratio = archived === 0 ? null : (vault + database + wal) / archived
  const counted = use.counted === now ? null : new Date(use.counted).toISOString()
  return { vault, database, wal, other: use.other, ratio, counted }
}
