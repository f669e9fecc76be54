/**
 * Brings the views up to date with a vault from which sessions or texts were removed, as a rebuild would, but reads only
 * the sessions concerned again. Afterwards no byte of the database file holds what was removed.
 */

import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs"
import { CtxError, codeOf, messageOf } from "../base/errors.ts"
import { HISTORY } from "../base/session-id.ts"
import { ownerOf } from "../vault/tombstones.ts"
import { isComplete, isOutdated } from "./completeness.ts"
import {
  type Database,
  databasePath,
  openFile,
  prepareForLongWork,
  SCHEMA_VERSION,
  schemaVersion,
} from "./database.ts"
import { indexCopy, type ViewsGap } from "./indexing.ts"
import { deleteRows, isUnforgotten, putLost, stashLost } from "./lost-rows.ts"
import { promptsOnlySessions } from "./queries/sessions.ts"
import {
  alonePreparing,
  counted,
  createSessions,
  dropUnread,
  lostProjects,
  missingIn,
  type RebuildOptions,
  type RebuildReport,
  rebuild,
} from "./rebuild-views.ts"
import { dropPrepared } from "./reminders.ts"
import { alone, busy } from "./replace-database.ts"
import { isUnusable, shapeProblem } from "./schema-shape.ts"
import { heldVectors, putHeldVectors } from "./vectors.ts"
import { type Source, sources } from "./view-sources.ts"

/** What was removed of a session: all of it, or some of its text. `nothing`: its copies are to be read again. */
export type Removed = "whole" | "text" | "nothing"

/** Above this share of the vault's bytes, reading everything again is no slower. */
const MOST_READ = 0.25
/** ms to wait for programs that do not know our lock. */
const STRANGERS = 500
/** Bytes of a page of the words: SQLite's own choice, and the least that it allows. */
const WORD_PAGE = 4050
const SMALL_PAGE = 32

/** Tells what was removed of a session, or of a subagent's `<session>/<agent>`. */
type Removal = (session: string, path: string) => Removed | undefined

interface RemovalOptions extends RebuildOptions {
  /** Share of the vault's bytes up to which the sessions concerned are read again, instead of all. */
  readonly most?: number
}

/** @throws CtxError `busy`, `newer-schema` */
export function followRemoval(dataHome: string, removed: Removal, options: RemovalOptions): RebuildReport {
  const start = performance.now()
  try {
    // Nobody may be making views from what the vault held before.
    const done = alonePreparing(dataHome, 0, () =>
      alone(dataHome, options.wait, () => change(dataHome, removed, options)),
    )
    if (done !== undefined) return { ...done, ms: Math.round(performance.now() - start) }
  } catch (error) {
    if (!isUnusable(dataHome, error)) throw error
  }
  const isRemoved = (session: string, path: string): boolean =>
    ["whole", "text"].includes(removed(session, path) ?? "")
  return rebuild(dataHome, { ...options, isRemoved })
}

/** @returns undefined if all views have to be made anew */
function change(
  dataHome: string,
  removed: Removal,
  options: RemovalOptions,
): Omit<RebuildReport, "ms"> | undefined {
  const { most = MOST_READ } = options
  const path = databasePath(dataHome)
  if (!existsSync(path)) return undefined
  const db = openFile(path, "change", STRANGERS)
  let roots: number[]
  let report: Omit<RebuildReport, "ms">
  try {
    if (!isUsable(db, dataHome)) return undefined
    const concerned = concernedIn(db, removed)
    const all = sources(dataHome)
    const again = all.filter(({ session }) => concerned.again.has(session))
    if (bytesOf(again) > bytesOf(all) * most) return undefined
    prepareForLongWork(db)
    // Before the transaction, which does not allow it.
    db.run("PRAGMA temp_store = MEMORY")
    const read = db.transaction(() => readAgain(db, dataHome, concerned, again, options.rewrite)).immediate()
    const missing = missingIn(db, dataHome)
    report = { copies: all.length, ...counted(db), ...read, missing, damaged: null }
    const log = db.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get()
    if (log?.busy === 1) throw busy()
    roots = rootsOf(db)
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_BUSY")) throw busy()
    throw error
  } finally {
    db.close()
  }
  wipeUnused(path, roots)
  dropPrepared(dataHome)
  return report
}

const isUsable = (db: Database, dataHome: string): boolean =>
  schemaVersion(db) === SCHEMA_VERSION &&
  shapeProblem(db) === undefined &&
  isComplete(db, dataHome) &&
  !isOutdated(db)

const bytesOf = (all: readonly Source[]): number => all.reduce((sum, { bytes }) => sum + bytes, 0)

const rootsOf = (db: Database): number[] =>
  db
    .query<{ root: number }, []>("SELECT rootpage AS root FROM sqlite_schema WHERE rootpage > 1")
    .all()
    .map(({ root }) => root)

interface Concerned {
  /** Sessions that leave the views. */
  readonly gone: ReadonlySet<string>
  /** Sessions whose copies have to be read again. */
  readonly again: ReadonlySet<string>
  /** Those of them of which a text was removed: what the views alone know of them cannot be searched for it. */
  readonly lessened: ReadonlySet<string>
}

/**
 * Lines that several sessions have belong to whichever was read first. So what was forked from a session that leaves has
 * to be read again, with all that was forked from that, and their subagents.
 */
function concernedIn(db: Database, removed: Removal): Concerned {
  const rows = db
    .query<{ session: string; path: string }, []>(
      `SELECT session, path FROM transcripts UNION
       SELECT id, id FROM sessions WHERE id NOT IN (SELECT session FROM transcripts)`,
    )
    .all()
  // Of several copies of a session, what was removed of one may be less.
  const found = new Map<string, Removed>()
  for (const what of ["nothing", "text", "whole"] as const)
    for (const { session, path } of rows) if (removed(session, path) === what) found.set(session, what)
  const changed = [...found.keys()]
  const gone = new Set(changed.filter((session) => found.get(session) === "whole"))
  const again = db
    .query<{ id: string }, [string, string]>(
      `WITH RECURSIVE concerned (id) AS (
         SELECT value FROM json_each(?1)
         -- The lines of one whose session is unknown may be of any.
         UNION SELECT id FROM sessions WHERE parent NOT IN (SELECT session FROM transcripts)
         -- A handle is longer than others while another turn has its first letters.
         UNION SELECT session FROM turns WHERE length(handle) > 6 AND substr(handle, 1, 6) IN (
           SELECT substr(handle, 1, 6) FROM turns WHERE session IN (SELECT value FROM json_each(?1)))
         UNION SELECT l.child FROM lineage l JOIN concerned c ON l.parent = c.id WHERE l.kind = 'fork'
         UNION SELECT s.id FROM sessions s JOIN concerned c ON s.parent = c.id
         -- The outputs of a subagent are in copies beside its session's transcript.
         UNION SELECT x.session FROM concerned c CROSS JOIN turns t ON t.session = c.id
           CROSS JOIN messages m ON m.turn = t.id CROSS JOIN transcripts x ON x.id = m.transcript
           WHERE x.session NOT IN (c.id, ?2))
       SELECT id FROM concerned`,
    )
    .all(JSON.stringify(changed), HISTORY)
    .map(({ id }) => id)
  const lessened = new Set(changed.filter((session) => found.get(session) === "text"))
  // What is known of these is in one copy, which has to be read again for all of them.
  const ofHistory = [HISTORY, ...promptsOnlySessions(db)]
  if (again.some((session) => !gone.has(session) && ofHistory.includes(session))) again.push(...ofHistory)
  return { gone, again: new Set(again.filter((session) => !gone.has(session))), lessened }
}

/** @returns copies that could not be read to their end */
function readAgain(
  db: Database,
  dataHome: string,
  { gone, again, lessened }: Concerned,
  copies: readonly Source[],
  rewrite: RebuildOptions["rewrite"],
): Pick<RebuildReport, "unreadable" | "gaps"> {
  const leaving = [...gone, ...again]
  const isKept = (session: string, path: string): boolean =>
    again.has(session) && !lessened.has(session) && isUnforgotten(dataHome, ownerOf(session, path))
  const isStashed = stashLost(db, dataHome, { from: "main", isKept })
  const projects = lostProjects(db, again)
  const vectors = heldVectors(db, leaving)
  // The numbers of deleted messages are looked up in a table as large as a page, by a hash that clusters when they follow
  // each other: in one large table, merging the lists would take eight times as long.
  setWordPage(db, SMALL_PAGE)
  deleteRows(db, leaving)
  setWordPage(db, WORD_PAGE)
  createSessions(db, projects)
  const gaps: Omit<ViewsGap, "copyId">[] = []
  const onGap = ({ copy, from, to, error }: ViewsGap): void => void gaps.push({ copy, from, to, error })
  const readOnce = (one: Source): RebuildReport["unreadable"] => {
    try {
      indexCopy(db, dataHome, one, () => false, [], onGap)
      return []
    } catch (error) {
      if (codeOf(error).startsWith("SQLITE_")) throw error
      return [{ copy: one.copy, error: messageOf(error) }]
    }
  }
  const unreadable = copies.flatMap(readOnce)
  const kept = new Set(isStashed ? putLost(db, rewrite) : [])
  for (const one of copies) if (kept.has(one.session)) readOnce(one)
  dropUnread(db)
  putHeldVectors(db, vectors)
  // Deleted messages stay in the lists of words until those are merged.
  db.run("INSERT INTO words (words) VALUES ('optimize')")
  db.run("INSERT INTO observation_words (observation_words) VALUES ('optimize')")
  return { unreadable, gaps }
}

const setWordPage = (db: Database, bytes: number): unknown =>
  db.query<unknown, [number]>("INSERT INTO words (words, rank) VALUES ('pgsz', ?)").run(bytes)

/*
 * Overwrites with zeros whatever a database file has in places that hold nothing: free pages, the room between a page's
 * rows, the end of a long row's last page. SQLite leaves there what rows held before they were deleted, changed or moved
 * to another page; its `secure_delete` only covers what is deleted while it is on, and not what was moved.
 *
 * Writes only bytes that mean nothing, so it may be killed at any moment. What stays are gaps of up to three bytes. The
 * format: https://www.sqlite.org/fileformat2.html
 */

/** Bytes before the first page's own header. */
const FILE_HEADER = 100
const INTERIOR_INDEX = 2
const INTERIOR_TABLE = 5
const LEAF_INDEX = 10
const LEAF_TABLE = 13
/** The page at this offset is never used. */
const LOCK_BYTE = 1 << 30
const DEEPEST = 40

/**
 * @param path of a database that nobody has open, and that has no log
 * @param roots pages at which its tables and indexes begin (`sqlite_schema.rootpage`)
 * @returns how many bytes were overwritten
 * @throws CtxError `SQLITE_CORRUPT` if a page is in no place or in two
 */
export function wipeUnused(path: string, roots: readonly number[]): number {
  const fd = openSync(path, "r+")
  try {
    const pages = new Pages(fd)
    for (const root of [1, ...roots]) pages.tree(root)
    pages.free()
    pages.checkAll()
    fsyncSync(fd)
    return pages.wiped
  } finally {
    closeSync(fd)
  }
}

class Pages {
  readonly #fd: number
  readonly #size: number
  /** Bytes of a page that SQLite uses. */
  readonly #usable: number
  readonly #seen: Uint8Array
  readonly #zeros: Buffer
  readonly #buffers: Buffer[] = []
  /** Most bytes of a row that are kept in its page, for tables and for indexes; the least, if there are more. */
  readonly #mostInTable: number
  readonly #mostInIndex: number
  readonly #least: number
  wiped = 0

  constructor(fd: number) {
    this.#fd = fd
    const header = Buffer.alloc(FILE_HEADER)
    readSync(fd, header, 0, FILE_HEADER, 0)
    const size = header.readUInt16BE(16)
    this.#size = size === 1 ? 65_536 : size
    this.#usable = this.#size - header[20]!
    const { size: bytes } = fstatSync(fd)
    if (this.#size < 512 || bytes % this.#size !== 0) throw corrupt("its size is not one of whole pages")
    this.#seen = new Uint8Array(bytes / this.#size + 1)
    this.#zeros = Buffer.alloc(this.#size)
    this.#mostInTable = this.#usable - 35
    this.#mostInIndex = Math.floor(((this.#usable - 12) * 64) / 255) - 23
    this.#least = Math.floor(((this.#usable - 12) * 32) / 255) - 23
  }

  /** Goes through the page of a table or index, and all below it. */
  tree(number: number, depth = 0): void {
    const page = this.#read(number, depth)
    const start = number === 1 ? FILE_HEADER : 0
    const type = page[start]!
    const isInterior = type === INTERIOR_INDEX || type === INTERIOR_TABLE
    if (!isInterior && type !== LEAF_INDEX && type !== LEAF_TABLE)
      throw corrupt(`page ${number} has type ${type}`)
    const cells = page.readUInt16BE(start + 3)
    const pointers = start + (isInterior ? 12 : 8)
    this.#wipe(page, number, pointers + 2 * cells, page.readUInt16BE(start + 5) || 65_536)
    let last = 0
    for (let at = page.readUInt16BE(start + 1); at !== 0; at = page.readUInt16BE(at)) {
      if (at <= last || at + 4 > this.#usable) throw corrupt(`page ${number} has a loop of free places`)
      last = at
      this.#wipe(page, number, at + 4, at + page.readUInt16BE(at + 2))
    }
    for (let n = 0; n < cells; n++) {
      const at = page.readUInt16BE(pointers + 2 * n)
      if (isInterior) this.tree(page.readUInt32BE(at), depth + 1)
      if (type !== INTERIOR_TABLE) this.#row(page, isInterior ? at + 4 : at, type === LEAF_TABLE)
    }
    if (isInterior) this.tree(page.readUInt32BE(start + 8), depth + 1)
  }

  /** Follows a row that is too long for its page. */
  #row(page: Buffer, start: number, isTable: boolean): void {
    let at = start
    let size = 0
    let byte: number
    do {
      byte = page[at++]!
      size = size * 128 + (byte & 127)
    } while (byte > 127)
    const most = isTable ? this.#mostInTable : this.#mostInIndex
    if (size <= most) return
    // The row's number.
    if (isTable) while (page[at++]! > 127);
    const wanted = this.#least + ((size - this.#least) % (this.#usable - 4))
    const here = wanted <= most ? wanted : this.#least
    let left = size - here
    for (let next = page.readUInt32BE(at + here); next !== 0; ) {
      const more = this.#read(next, DEEPEST)
      const used = Math.min(left, this.#usable - 4)
      this.#wipe(more, next, 4 + used, this.#size)
      left -= used
      next = more.readUInt32BE(0)
    }
    if (left !== 0) throw corrupt("a long row has no end")
  }

  /** Goes through the list of free pages. Each names others and the next of its kind. */
  free(): void {
    for (let next = this.#header().readUInt32BE(32); next !== 0; ) {
      const page = this.#read(next, 0)
      const named = page.readUInt32BE(4)
      if (8 + 4 * named > this.#size) throw corrupt("the list of free pages is broken")
      this.#wipe(page, next, 8 + 4 * named, this.#size)
      for (let n = 0; n < named; n++) {
        const number = page.readUInt32BE(8 + 4 * n)
        this.#wipe(this.#read(number, 1), number, 0, this.#size)
      }
      next = page.readUInt32BE(0)
    }
  }

  /** What nothing leads to, we have not wiped. */
  checkAll(): void {
    const unused = LOCK_BYTE / this.#size + 1
    for (let n = 1; n < this.#seen.length; n++)
      if (this.#seen[n] === 0 && n !== unused) throw corrupt(`page ${n} is in no place`)
  }

  #header(): Buffer {
    const header = Buffer.alloc(FILE_HEADER)
    readSync(this.#fd, header, 0, FILE_HEADER, 0)
    return header
  }

  /** @param depth of the buffer to use: a page's must not change while its children are visited */
  #read(number: number, depth: number): Buffer {
    if (depth > DEEPEST || this.#seen[number] !== 0)
      throw corrupt(`page ${number} is in two places, or in none`)
    this.#seen[number] = 1
    this.#buffers[depth] ??= Buffer.alloc(this.#size)
    const buffer = this.#buffers[depth]
    readSync(this.#fd, buffer, 0, this.#size, (number - 1) * this.#size)
    return buffer
  }

  #wipe(page: Buffer, number: number, from: number, to: number): void {
    if (to > this.#size) throw corrupt(`page ${number} has more than fits`)
    if (to <= from || page.compare(this.#zeros, 0, to - from, from, to) === 0) return
    writeSync(this.#fd, this.#zeros, 0, to - from, (number - 1) * this.#size + from)
    this.wiped += to - from
  }
}

const corrupt = (what: string): CtxError => new CtxError("SQLITE_CORRUPT", `the database is damaged: ${what}`)
