/**
 * Brings the views up to date with a vault from which sessions or texts were removed, as a rebuild would, but reads only
 * the sessions concerned again. Afterwards no byte of the database file holds what was removed.
 */
import { existsSync } from "node:fs"
import { codeOf, messageOf } from "../util/errors.ts"
import { isComplete, isOutdated } from "./completeness.ts"
import {
  type Database,
  databasePath,
  openFile,
  prepareForLongWork,
  SCHEMA_VERSION,
  schemaVersion,
} from "./database.ts"
import { createSessions, dropUnread, lostProjects } from "./former-projects.ts"
import { sessionKey } from "./identity.ts"
import { indexCopy } from "./indexing.ts"
import { dropPointers } from "./pointers.ts"
import { alonePreparing, counted, type RebuildOptions, type RebuildReport, rebuild } from "./rebuild-views.ts"
import { alone, busy } from "./replace-database.ts"
import { isUnusable, shapeProblem } from "./schema-shape.ts"
import { heldVectors, putHeldVectors } from "./vectors.ts"
import { type Source, sources } from "./view-sources.ts"
import { wipeUnused } from "./wipe-unused.ts"

/** What was removed of a session: all of it, or some of its text. */
export type Removed = "whole" | "text"

/** Above this share of the vault's bytes, reading everything again is no slower. */
const MOST_READ = 0.25
/** ms to wait for programs that do not know our lock. */
const STRANGERS = 500
/** Bytes of a page of the words: SQLite's own choice, and the least that it allows. */
const WORD_PAGE = 4050
const SMALL_PAGE = 32

/** Tells what was removed of a session, or of a subagent's `<session>/<agent>`. */
type Removal = (session: string, path: string) => Removed | undefined

export interface RemovalOptions extends RebuildOptions {
  /** Share of the vault's bytes up to which the sessions concerned are read again, instead of all. */
  readonly most?: number
}

/** @throws CtxError `busy`, `newer-schema` */
export function followRemoval(dataHome: string, removed: Removal, options: RemovalOptions): RebuildReport {
  const start = performance.now()
  try {
    // Nobody may be making views from what the vault held before.
    const done = alonePreparing(dataHome, 0, () =>
      alone(dataHome, options.wait, () => change(dataHome, removed, options.most ?? MOST_READ)),
    )
    if (done !== undefined) return { ...done, ms: Math.round(performance.now() - start) }
  } catch (error) {
    if (!isUnusable(dataHome, error)) throw error
  }
  return rebuild(dataHome, options)
}

/** @returns undefined if all views have to be made anew */
function change(dataHome: string, removed: Removal, most: number): Omit<RebuildReport, "ms"> | undefined {
  const path = databasePath(dataHome)
  if (!existsSync(path)) return undefined
  const db = openFile(path, { wait: STRANGERS, asItIs: true })
  let roots: number[]
  let report: Omit<RebuildReport, "ms">
  try {
    if (!isUsable(db, dataHome)) return undefined
    const concerned = concernedIn(db, removed)
    const all = sources(dataHome)
    const again = all.filter(({ session }) => concerned.again.has(session))
    if (bytesOf(again) > bytesOf(all) * most) return undefined
    prepareForLongWork(db)
    const unreadable = db.transaction(() => readAgain(db, dataHome, concerned, again)).immediate()
    report = { copies: all.length, ...counted(db), unreadable, damaged: null }
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
  dropPointers(dataHome)
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
  const found = new Map(rows.map(({ session, path }) => [session, removed(session, path)]))
  const changed = [...found].filter(([, what]) => what !== undefined).map(([session]) => session)
  const gone = new Set(changed.filter((session) => found.get(session) === "whole"))
  const again = db
    .query<{ id: string }, [string]>(
      `WITH RECURSIVE concerned (id) AS (
         SELECT value FROM json_each(?1)
         UNION SELECT l.child FROM lineage l JOIN concerned c ON l.parent = c.id WHERE l.kind = 'fork'
         UNION SELECT s.id FROM sessions s JOIN concerned c ON s.parent = c.id)
       SELECT id FROM concerned
       -- The lines of one whose session is unknown may be of any.
       UNION SELECT id FROM sessions WHERE parent NOT IN (SELECT session FROM transcripts)
       -- A handle is longer than others while another turn has its first letters.
       UNION SELECT session FROM turns WHERE length(handle) > 6 AND substr(handle, 1, 6) IN (
         SELECT substr(handle, 1, 6) FROM turns WHERE session IN (SELECT value FROM json_each(?1)))`,
    )
    .all(JSON.stringify(changed))
    .map(({ id }) => id)
  return { gone, again: new Set(again.filter((session) => !gone.has(session))) }
}

/** @returns copies that could not be read to their end */
function readAgain(
  db: Database,
  dataHome: string,
  { gone, again }: Concerned,
  copies: readonly Source[],
): RebuildReport["unreadable"] {
  const leaving = [...gone, ...again]
  const projects = lostProjects(db, again)
  const vectors = heldVectors(db, leaving)
  // The numbers of deleted messages are looked up in a table as large as a page, by a hash that clusters when they follow
  // each other: in one large table, merging the lists would take eight times as long.
  setWordPage(db, SMALL_PAGE)
  deleteRows(db, leaving)
  setWordPage(db, WORD_PAGE)
  createSessions(db, projects)
  const unreadable = copies.flatMap((one) => {
    try {
      indexCopy(db, dataHome, one, () => false)
      return []
    } catch (error) {
      if (codeOf(error).startsWith("SQLITE_")) throw error
      return [{ copy: one.copy, error: messageOf(error) }]
    }
  })
  dropUnread(db)
  putHeldVectors(db, vectors)
  // Deleted messages stay in the lists of words until those are merged.
  db.run("INSERT INTO words (words) VALUES ('optimize')")
  db.run("INSERT INTO observation_words (observation_words) VALUES ('optimize')")
  return unreadable
}

const setWordPage = (db: Database, bytes: number): unknown =>
  db.query<unknown, [number]>("INSERT INTO words (words, rank) VALUES ('pgsz', ?)").run(bytes)

/** Triggers delete the messages' words and vectors. */
function deleteRows(db: Database, sessions: readonly string[]): void {
  const names = JSON.stringify(sessions)
  const their = "IN (SELECT value FROM json_each(?))"
  const turns = `turn IN (SELECT id FROM turns WHERE session ${their})`
  const transcripts = `transcript IN (SELECT id FROM transcripts WHERE session ${their})`
  for (const where of [
    `summaries WHERE ${transcripts}`,
    `observations WHERE ${transcripts}`,
    `messages WHERE ${turns}`,
    `files WHERE ${turns}`,
    ...["tool_calls", "usage", "results", "notes", "boundaries", "turns", "transcripts"].map(
      (table) => `${table} WHERE session ${their}`,
    ),
    `sessions WHERE id ${their}`,
    // Who followed whom after /clear, only hooks know.
    `lineage WHERE kind = 'fork' AND child ${their}`,
  ]) {
    db.query<unknown, [string]>(`DELETE FROM ${where}`).run(names)
  }
  // Made anew by the job: turns that are read again get other ids.
  for (const table of ["followed", "outcomes", "uses", "learned"]) db.run(`DELETE FROM ${table}`)
  const facts = db.query<unknown, [bigint]>("DELETE FROM facts WHERE session = ?")
  for (const session of sessions) facts.run(sessionKey(session))
}
