/** Keeps entries in one SQLite file: on a stick, a share, or another disk. One machine writes at a time. */

import { CtxError, codeOf, messageOf } from "../../base/errors.ts"
import { statsOf } from "../../base/files.ts"
import { parseJson } from "../../base/json-files.ts"
import { wordSet } from "../../base/words.ts"
import { type Database, openFile } from "../../views/database.ts"
import { type Entry, isEntry, type Version, versionOf } from "./entry.ts"
import {
  bestEntries,
  type ForgottenThere,
  isForgottenThere,
  isNamed,
  missing,
  sentOf,
  sift,
  type VersionThere,
} from "./entry-rules.ts"
import { type EntryQuery, type Forgetting, mustBeThere, type PutReport, type Target } from "./target.ts"

/** ms to wait for another writer. */
const WAIT = 5000
const VERSION = 1
/** Rows with ids that begin alike, of which some may be damaged. */
const ALIKE = 20

const TABLES = `
  CREATE TABLE target (id TEXT NOT NULL);
  -- The latest version of each turn, whole, as JSON.
  CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    messages INTEGER NOT NULL,
    taken_back INTEGER NOT NULL,
    has_vector INTEGER NOT NULL,
    entry TEXT NOT NULL
  );
  CREATE INDEX entries_session ON entries (session);
  -- What must not be kept: an entry by its id, or a session with its subagents.
  CREATE TABLE forgotten (kind TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
  -- Words of the contents, as ctxbridge splits them.
  CREATE VIRTUAL TABLE words USING fts5 (
    text, detail = none, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
  );
  INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
  PRAGMA user_version = ${VERSION};
`

/** The entries under the names of the design documents' table, for programs that know those. We do not read it. */
const TRANSCRIPT_ENTRIES = `
  CREATE VIEW IF NOT EXISTS transcript_entries AS
  SELECT id, key, entry ->> 'content' AS content, 'episodic' AS type, 'transcript-archive' AS namespace,
    coalesce(entry -> 'tags', json_array('transcript', 'compaction', session)) AS tags,
    json_set(entry -> 'metadata', '$.summary', entry ->> 'summary') AS metadata, 'private' AS access_level,
    CAST(unixepoch(entry ->> '$.metadata.timestamp', 'subsec') * 1000 AS INTEGER) AS created_at,
    entry ->> '$.metadata.contentHash' AS content_hash, session AS session_id,
    entry ->> '$.metadata.chunkIndex' AS chunk_index, entry ->> 'summary' AS summary
  FROM entries WHERE json_valid(entry)
`

/** @param isReader whether the file must be there; nothing is written then */
export function openSqliteTarget(path: string, isReader = false): Target {
  const told = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw sqliteError(error, path)
    }
  }
  const { db, id } = told(() => openedFile(path, isReader))
  return {
    id,

    async put(entries) {
      return told(() => db.transaction(() => putAll(db, entries)).immediate())
    },

    async find(query) {
      return told(() => bestEntries(candidates(db, query), query))
    },

    async get(wanted) {
      const rows = told(() =>
        db
          .query<{ entry: string }, [string]>(
            `SELECT entry FROM entries WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT ${ALIKE}`,
          )
          .all(wanted),
      )
      for (const { entry: text } of rows) {
        const entry = parseJson(text)
        if (isEntry(entry) && isNamed(entry.id, wanted)) return entry
      }
      return undefined
    },

    async forget(what) {
      return told(() => db.transaction(() => forgetAll(db, what)).immediate())
    },

    async stats() {
      return told(
        () =>
          db
            .query<{ entries: number; sessions: number; forgotten: number; damaged: number }, []>(
              `SELECT count(*) AS entries, count(DISTINCT session) AS sessions,
                 (SELECT count(*) FROM forgotten) AS forgotten, 0 AS damaged FROM entries`,
            )
            .get()!,
      )
    },

    async lacking(sent) {
      return told(() => {
        const there = new Map(versionsIn(db))
        return missing(sent, (key) => there.get(key), forgottenIn(db))
      })
    },

    async ownThere(machine, sessions) {
      const own =
        "WHERE typeof(session) = 'text' AND CASE WHEN json_valid(entry) THEN json_extract(entry, '$.metadata.machine') END = ?"
      return told(() => sentOf(versionsIn(db, own, machine), sessions))
    },

    async forgottenThere() {
      return told(() => db.query<{ n: number }, []>("SELECT count(*) AS n FROM forgotten").get()!.n)
    },

    async mend() {
      return told(() => db.transaction(() => mendAll(db)).immediate())
    },

    async close() {
      db.close()
    },
  }
}

function openedFile(path: string, isReader: boolean): { db: Database; id: string } {
  mustBeThere(path, isReader)
  if (statsOf(path)?.isFile() === false) throw new CtxError("target-missing", `not a file: ${path}`)
  const db = openFile(path, isReader ? "apart-read" : "apart", WAIT)
  try {
    if (!isReader) db.transaction(() => makeTables(db, path)).immediate()
    const row = db.query<{ id: string }, []>("SELECT id FROM target").get()
    if (row === null) throw damaged(path)
    return { db, id: row.id }
  } catch (error) {
    db.close()
    throw error
  }
}

function makeTables(db: Database, path: string): void {
  const { user_version: version } = db.query<{ user_version: number }, []>("PRAGMA user_version").get()!
  if (version > VERSION) {
    throw new CtxError("target-newer", `${path} is from a newer version of ctxbridge (${version})`, {
      hint: "update ctxbridge on this machine",
    })
  }
  if (version === VERSION) {
    db.run(TRANSCRIPT_ENTRIES)
    return
  }
  const others = db.query<{ n: number }, []>("SELECT count(*) AS n FROM sqlite_master").get()!
  if (others.n > 0) throw damaged(path)
  db.run(TABLES)
  db.run(TRANSCRIPT_ENTRIES)
  db.query("INSERT INTO target VALUES (?)").run(crypto.randomUUID())
}

const damaged = (path: string): CtxError =>
  new CtxError("target-damaged", `${path} is not one of ours, or damaged`, { hint: "name another file" })

function forgottenIn(db: Database): ForgottenThere {
  const rows = db.query<{ kind: string; name: string }, []>("SELECT kind, name FROM forgotten").all()
  const named = (wanted: string): Set<string> =>
    new Set(rows.filter(({ kind }) => kind === wanted).map(({ name }) => name))
  return { ids: named("id"), sessions: named("session") }
}

/** @returns number of entries that are gone now */
function forgetAll(db: Database, { ids = [], sessions = [] }: Forgetting): number {
  const keep = db.query("INSERT INTO forgotten VALUES (?, ?) ON CONFLICT DO NOTHING")
  for (const one of ids) keep.run("id", one)
  for (const one of sessions) keep.run("session", one)
  const forgotten = forgottenIn(db)
  const rows = db.query<{ number: number; id: string; session: string }, []>(
    "SELECT number, id, session FROM entries",
  )
  const gone = rows.all().filter((row) => isForgottenThere(row, forgotten))
  for (const { number } of gone) drop(db, number)
  return gone.length
}

const VERSION_COLUMNS = "number, id, session, messages, taken_back AS takenBack, has_vector AS hasVector"

interface VersionRow {
  readonly number: number
  readonly id: string
  readonly session: string
  readonly messages: number
  readonly takenBack: number
  readonly hasVector: number
}

const versionIn = ({ id, messages, takenBack, hasVector }: VersionRow): Version => ({
  id,
  messages,
  takenBack: takenBack === 1,
  hasVector: hasVector === 1,
})

/** By their keys. */
const versionsIn = (db: Database, where = "", ...values: string[]): [key: string, VersionThere][] =>
  db
    .query<VersionRow & Pick<Entry, "key">, string[]>(`SELECT key, ${VERSION_COLUMNS} FROM entries ${where}`)
    .all(...values)
    .map((row) => [row.key, { ...versionIn(row), session: row.session }])

/** Takes out rows that are no entries, or not those that their columns say. */
function mendAll(db: Database): number {
  const rows = db.query<VersionRow & { key: string; entry: string }, []>(
    `SELECT key, entry, ${VERSION_COLUMNS} FROM entries`,
  )
  const unsound: number[] = []
  for (const { key, entry, ...row } of rows.iterate()) {
    const value = parseJson(entry)
    const isSound =
      isEntry(value) &&
      value.key === key &&
      value.metadata.sessionId === row.session &&
      Bun.deepEquals(versionOf(value), versionIn(row))
    if (!isSound) unsound.push(row.number)
  }
  for (const number of unsound) drop(db, number)
  return unsound.length
}

function putAll(db: Database, entries: readonly Entry[]): PutReport {
  const before = db.query<VersionRow, [string]>(`SELECT ${VERSION_COLUMNS} FROM entries WHERE key = ?`)
  const add = db.query("INSERT INTO entries VALUES (NULL, ?, ?, ?, ?, ?, ?, ?) RETURNING number")
  const index = db.query("INSERT INTO words (rowid, text) VALUES (?, ?)")
  const numbers = new Map<string, number>()
  const knownOf = (key: string): Version | undefined => {
    const row = before.get(key)
    if (row === null) return undefined
    numbers.set(key, row.number)
    return versionIn(row)
  }
  const { fresh, report } = sift(entries, knownOf, forgottenIn(db))
  for (const entry of fresh) {
    const { id, key, content, metadata, vector } = entry
    const { sessionId, messages, takenBack } = metadata
    const known = numbers.get(key)
    if (known !== undefined) drop(db, known)
    const row = [key, id, sessionId, messages, Number(takenBack), Number(vector !== undefined)] as const
    const { number } = add.get(...row, JSON.stringify(entry)) as { number: number }
    index.run(number, [...wordSet(content)].join(" "))
  }
  return report
}

function drop(db: Database, number: number): void {
  db.query("DELETE FROM words WHERE rowid = ?").run(number)
  db.query("DELETE FROM entries WHERE number = ?").run(number)
}

/** Entries that may be wanted, one at a time. */
function* candidates(db: Database, query: EntryQuery): Generator<Entry> {
  const conditions: string[] = []
  const values: string[] = []
  if ("vector" in query) conditions.push("has_vector = 1")
  else {
    // Without details, the index has no phrases: what SQLite would split is left to the look at each entry.
    const words = [...wordSet(query.words)].filter((word) => /^[\p{L}\p{M}\p{N}]+$/u.test(word))
    if (words.length > 0) {
      conditions.push("number IN (SELECT rowid FROM words WHERE words MATCH ?)")
      values.push(words.map((word) => `"${word}"`).join(query.isAny ? " OR " : " AND "))
    }
  }
  if (query.session !== undefined) {
    conditions.push("(session = ? OR substr(session, 1, length(?) + 1) = ? || '/')")
    values.push(query.session, query.session, query.session)
  }
  const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`
  const rows = db.query<{ entry: string }, string[]>(`SELECT entry FROM entries${where}`)
  for (const { entry } of rows.iterate(...values)) {
    const value = parseJson(entry)
    if (isEntry(value)) yield value
  }
}

function sqliteError(error: unknown, path: string): unknown {
  const code = codeOf(error)
  const because = (name: string, hint: string): CtxError =>
    new CtxError(name, `${path}: ${messageOf(error)}`, { hint, cause: error })
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code) || /no such (table|column)/.test(messageOf(error)))
    return damaged(path)
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return because("target-busy", "another machine writes to it; try again")
  if (/^SQLITE_FULL|ENOSPC/.test(code)) return because("target-full", "make room there")
  if (/^(SQLITE_(READONLY|CANTOPEN|IOERR|PERM|AUTH)|EACCES|EROFS|EPERM)/.test(code))
    return because("target-unwritable", "it must be writable and have room; what was committed stays")
  return error
}
