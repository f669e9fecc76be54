/**
 * Reads what opencode keeps of its sessions: a database that may be in use and have gigabytes, and before that, files of
 * their own for each message and part. Nothing of it is changed, and only what is asked for is read.
 */
import { readdirSync } from "node:fs"
import {
  dataOf,
  messagesOfRow,
  type StoredMessage,
  type StoredRow,
} from "../../agents/opencode/opencode-lines.ts"
import { isOpencodeDatabase } from "../../agents/opencode/opencode-places.ts"
import { CtxError, codeOf } from "../../base/errors.ts"
import { statsOf, tryTo } from "../../base/files.ts"
import { fileNamesIn, readJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { isPlainId } from "../../base/session-id.ts"
import { isObject, objectOf } from "../../record/json.ts"
import { type Database, openFile } from "../../views/database.ts"
import { columnsOf } from "./untouched-sqlite.ts"

interface ListedSession {
  readonly id: string
  /** ms since the epoch, of the last change of it or its messages, and of its beginning. */
  readonly updated: number
  readonly created: number
}

/** A session, as long as `work` of `withStored` is at it. */
export interface StoredSession {
  readonly row: StoredRow
  readonly updated: number
  /** In their order, those that have changed since then (ms since the epoch), each with all of its parts. */
  readonly messagesSince: (since: number) => Iterable<StoredMessage>
  /** When the model last began to say something; 0: never. */
  readonly lastAnswer: number
}

interface Listed {
  readonly sessions: readonly ListedSession[]
  /** Why there may be more of them; undefined: there are none. */
  readonly failure?: unknown
}

interface Store {
  readonly list: () => Listed
  readonly session: (id: string) => StoredSession | undefined
  close(): void
}

/** Whether a folder is opencode's and has sessions. */
export const isOpencodeFolder = (folder: string): boolean =>
  /\/opencode$/.test(folder) && placesIn(folder).length > 0

/** The newest way of keeping them first. */
function placesIn(folder: string): string[] {
  const names = (tryTo(() => readdirSync(folder)) ?? []).sort((a, b) => a.length - b.length)
  const files = names.map((name) => join(folder, name)).filter(isOpencodeDatabase)
  const older = join(folder, "storage", "session")
  return [
    ...files.filter((file) => statsOf(file)?.isFile()),
    ...(statsOf(older)?.isDirectory() ? [older] : []),
  ]
}

function opened(place: string, folder: string): Store {
  return place.endsWith(".db") ? new Rows(place) : new Files(join(folder, "storage"))
}

/**
 * All sessions of a folder. One that is in several places is told as it was changed last.
 *
 * @param onUnreadable called with each database that cannot be read, or not all of it: the rest is
 */
export function opencodeSessions(folder: string, onUnreadable?: (file: string) => void): ListedSession[] {
  const found = new Map<string, ListedSession>()
  for (const place of placesIn(folder)) {
    const { sessions, failure } = listedAt(place, folder)
    if (failure !== undefined) onUnreadable?.(place)
    for (const one of sessions)
      if (isPlainId(one.id) && one.updated > (found.get(one.id)?.updated ?? -1)) found.set(one.id, one)
  }
  return [...found.values()]
}

function listedAt(place: string, folder: string): Listed {
  let store: Store | undefined
  try {
    store = opened(place, folder)
    return store.list()
  } catch (failure) {
    return { sessions: [], failure }
  } finally {
    store?.close()
  }
}

/** Reads no more of a database than that it can be read. @throws CtxError `foreign-unknown`; any error of SQLite's */
export function readDatabase(file: string): void {
  const { failure } = listedAt(file, "")
  if (failure !== undefined) throw failure
}

/**
 * Calls `work` with a session as it was changed last, or with undefined if it is nowhere.
 *
 * @throws why a database cannot be read, if the session is in no other
 */
export function withStored<T>(
  folder: string,
  id: string,
  work: (session: StoredSession | undefined) => T,
): T {
  const stores: Store[] = []
  const failures: unknown[] = []
  let latest: StoredSession | undefined
  try {
    for (const place of placesIn(folder)) {
      try {
        const store = opened(place, folder)
        stores.push(store)
        const session = store.session(id)
        if (session !== undefined && session.updated > (latest?.updated ?? -1)) latest = session
      } catch (error) {
        failures.push(error)
      }
    }
    if (latest === undefined && failures.length > 0) throw failures[0]
    return work(latest)
  } finally {
    for (const store of stores) store.close()
  }
}

/** Times are numbers, but for what other programs have written. */
export const timeOf = (value: unknown): number =>
  typeof value === "number" ? value : typeof value === "string" ? Date.parse(value) || 0 : 0

/* The database. */

/** ms to wait for opencode. */
const PATIENCE = 2000

type HasColumn = (table: string, column: string) => boolean

/** opencode 1 and 2 have tables of their own, which may be in one database. */
class Rows implements Store {
  readonly #db: Database
  /** The newer one first. */
  readonly #tables: (Tables1 | Tables2)[] = []
  /** Why some of its tables are not read. */
  readonly #unknown: CtxError | undefined = undefined

  constructor(file: string) {
    // Also an empty log: whoever has the database open may write at any moment, and what is only in the log is the latest.
    const isInUse = ["-wal", "-shm"].some((suffix) => statsOf(file + suffix) !== undefined)
    this.#db = openFile(file, isInUse ? "foreign-live" : "foreign-at-rest", PATIENCE)
    const columns = new Map<string, readonly string[]>()
    const has: HasColumn = (table, column) => {
      if (!columns.has(table)) columns.set(table, columnsOf(this.#db, table))
      return columns.get(table)!.includes(column)
    }
    const isThere = (table: string): boolean => has(table, "id")
    try {
      const needed2 = neededOf2("session_v2")
      const [lacking1, lacking2] = [NEEDED, needed2].map((needed) => lackingOf(needed, has))
      const hasOlder = lacking1 === undefined
      const isPreview = !isThere("session_v2") && lackingOf(neededOf2("session"), has) === undefined
      if (lacking1 !== undefined && lacking2 !== undefined) throw unlike(lacking1)
      if (lacking1 !== undefined && Object.keys(NEEDED).every(isThere)) this.#unknown = unlike(lacking1)
      if (lacking2 !== undefined && Object.keys(needed2).every(isThere)) this.#unknown = unlike(lacking2)
      if (lacking2 === undefined) this.#tables.push(new Tables2(this.#db, has, "session_v2", hasOlder))
      else if (isPreview && hasOlder) this.#tables.push(new Tables2(this.#db, has, "session", true))
      if (hasOlder) this.#tables.push(new Tables1(this.#db, has))
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  close(): void {
    this.#db.close()
  }

  list(): Listed {
    const found = new Map<string, ListedSession>()
    const [lists, failure = this.#unknown] = this.#read((tables) => tables.sessions())
    for (const one of lists.flat()) {
      const before = found.get(one.id)
      found.set(one.id, before === undefined || one.updated > before.updated ? one : before)
    }
    return { sessions: [...found.values()], failure }
  }

  /** Of all tables that can be read, and why others cannot. @throws that, if none can */
  #read<T>(work: (tables: Tables1 | Tables2) => T): [read: T[], failure?: unknown] {
    const failures: unknown[] = []
    const read = this.#tables.flatMap((tables) => {
      try {
        return [work(tables)]
      } catch (error) {
        failures.push(error)
        return []
      }
    })
    if (read.length === 0) throw failures[0]
    return [read, failures[0]]
  }

  session(id: string): StoredSession | undefined {
    const [read, failure] = this.#read((tables) => tables.session(id))
    // What only waits for opencode is not left out: it would count as read.
    if (failure !== undefined && !codeOf(failure).startsWith("SQLITE_CORRUPT")) throw failure
    const found = read.filter((one) => one !== undefined)
    const [newest, older] = found
    if (newest === undefined || older === undefined) return newest
    return {
      row: newest.row,
      updated: Math.max(newest.updated, older.updated),
      lastAnswer: Math.max(newest.lastAnswer, older.lastAnswer),
      *messagesSince(since) {
        // What both have is told as the older one has it: it was archived so.
        yield* older.messagesSince(since)
        yield* newest.messagesSince(since)
      },
    }
  }
}

/** The first of these tables that lacks a column. */
const lackingOf = (needed: Readonly<Record<string, readonly string[]>>, has: HasColumn): string | undefined =>
  Object.keys(needed).find((table) => needed[table]!.some((column) => !has(table, column)))

const NEEDED = {
  session: ["id", "directory"],
  message: ["id", "session_id", "data"],
  part: ["id", "message_id", "data"],
}

/** Messages whose changes tell that a session has changed: the one that is being answered, and those that wait. */
const LATEST = 8

interface Changes {
  readonly own: unknown
  readonly messages: unknown
  readonly parts: unknown
}

const latestOf = ({ own, messages, parts }: Changes): number =>
  Math.max(timeOf(own), timeOf(messages), timeOf(parts))

class Tables1 {
  readonly #db: Database
  readonly #has: HasColumn

  constructor(db: Database, has: HasColumn) {
    this.#db = db
    this.#has = has
  }

  sessions(): ListedSession[] {
    const created = this.#has("session", "time_created") ? "time_created" : "0"
    return this.#db
      .query<{ id: string; created: unknown } & Changes, []>(
        `SELECT id, ${created} AS created, ${this.#changes()} FROM session`,
      )
      .all()
      .map(({ id, created, ...changes }) => ({ id, created: timeOf(created), updated: latestOf(changes) }))
  }

  /**
   * Columns of a session: when it, its last messages and their parts were changed last. opencode does not note with the
   * session that an answer has ended. Each is found by an index.
   */
  #changes(): string {
    const max = (table: string): string =>
      this.#has(table, "time_updated") ? `max(${table}.time_updated)` : "0"
    const last = `FROM (SELECT * FROM message WHERE session_id = session.id
      ORDER BY time_created DESC, id DESC LIMIT ${LATEST}) message`
    return `${this.#has("session", "time_updated") ? "time_updated" : "0"} AS own, (SELECT ${max("message")} ${last}) AS messages,
      (SELECT ${max("part")} ${last} CROSS JOIN part ON part.message_id = message.id) AS parts`
  }

  session(id: string): StoredSession | undefined {
    const row = this.#db.query<StoredRow, [string]>("SELECT * FROM session WHERE id = ?").get(id)
    const changes = this.#db
      .query<Changes, [string]>(`SELECT ${this.#changes()} FROM session WHERE id = ?`)
      .get(id)
    if (row === null || changes === null) return undefined
    const last = this.#db
      .query<{ time: unknown }, [string]>(
        `SELECT time_created AS time FROM message WHERE session_id = ?
         AND json_valid(data) AND json_extract(data, '$.role') = 'assistant'
         ORDER BY time_created DESC, id DESC LIMIT 1`,
      )
      .get(id)
    return {
      row,
      updated: latestOf(changes),
      lastAnswer: timeOf(last?.time),
      messagesSince: (since) => this.#messages(id, since),
    }
  }

  /** One message at a time: all of them may not fit into memory. */
  *#messages(session: string, since: number): Generator<StoredMessage> {
    const isDated = this.#has("message", "time_updated") && this.#has("part", "time_updated")
    const isOfSession = this.#has("part", "session_id")
    const isAll = since === 0 || !isDated || !isOfSession
    const ids = isAll
      ? this.#db
          .query<{ id: string }, [string]>(
            "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id",
          )
          .all(session)
      : this.#db
          .query<{ id: string }, [string, number]>(
            `SELECT id FROM message WHERE session_id = ?1 AND (time_updated >= ?2 OR id IN
               (SELECT message_id FROM part WHERE session_id = ?1 AND time_updated >= ?2))
             ORDER BY time_created, id`,
          )
          .all(session, since)
    const message = this.#db.query<StoredRow, [string]>("SELECT * FROM message WHERE id = ?")
    const parts = this.#db.query<StoredRow, [string]>("SELECT * FROM part WHERE message_id = ? ORDER BY id")
    for (const { id } of ids) {
      const row = message.get(id)
      if (row !== null) yield { row, parts: parts.all(id) }
    }
  }
}

/** @param sessions the table of sessions: before 2.0, a preview had them where opencode 1 has its own */
const neededOf2 = (sessions: string) => ({
  [sessions]: ["id", "directory", "time_created"],
  session_message: ["id", "session_id", "type", "seq", "data"],
})

/** The upgrade has given messages of opencode 1 their numbers first, and rows of its own to some. */
const SINCE_UPGRADE = `AND seq > coalesce((SELECT max(seq) FROM session_message WHERE session_id = ?1
  AND id IN (SELECT id FROM message WHERE session_id = ?1)), -1)`
/** opencode 1 has noted some things there as well. */
const ONLY_HERE = "AND NOT EXISTS (SELECT 1 FROM message WHERE session_id = ?1)"

const unlike = (table: string): CtxError =>
  new CtxError("foreign-unknown", `the table ${table} is not as opencode has it`, {
    hint: "a newer ctxbridge may know it",
  })

/** Rows say what they are, and each has all of a message. What opencode 1 has left there is in its own tables as well. */
class Tables2 {
  readonly #db: Database
  readonly #has: HasColumn
  readonly #sessions: "session_v2" | "session"
  /** Conditions on messages. */
  readonly #isNew: string

  constructor(db: Database, has: HasColumn, sessions: "session_v2" | "session", hasOlder: boolean) {
    this.#db = db
    this.#has = has
    this.#sessions = sessions
    this.#isNew = !hasOlder ? "" : sessions === "session" ? ONLY_HERE : SINCE_UPGRADE
  }

  #updated(table: string): string {
    return this.#has(table, "time_updated") ? "coalesce(time_updated, 0)" : "0"
  }

  /** When a session and its last messages were changed last. */
  get #changes(): string {
    return `max(${this.#updated(this.#sessions)}, coalesce((SELECT max(${this.#updated("session_message")}) FROM
      (SELECT * FROM session_message WHERE session_id = ${this.#sessions}.id ORDER BY seq DESC LIMIT ${LATEST})), 0)) AS updated`
  }

  sessions(): ListedSession[] {
    return this.#db
      .query<{ id: string; created: unknown; updated: unknown }, []>(
        `SELECT id, time_created AS created, ${this.#changes} FROM ${this.#sessions}`,
      )
      .all()
      .map(({ id, created, updated }) => ({ id, created: timeOf(created), updated: timeOf(updated) }))
  }

  session(id: string): StoredSession | undefined {
    const row = this.#db.query<StoredRow, [string]>(`SELECT * FROM ${this.#sessions} WHERE id = ?`).get(id)
    const changes = this.#db
      .query<{ updated: unknown }, [string]>(`SELECT ${this.#changes} FROM ${this.#sessions} WHERE id = ?`)
      .get(id)
    if (row === null || changes === null) return undefined
    const last = this.#db
      .query<{ time: unknown }, [string]>(
        `SELECT json_extract(data, '$.time.created') AS time FROM session_message
         WHERE session_id = ? AND type = 'assistant' AND json_valid(data) ORDER BY seq DESC LIMIT 1`,
      )
      .get(id)
    return {
      row,
      updated: timeOf(changes.updated),
      lastAnswer: timeOf(last?.time),
      messagesSince: (since) => this.#messages(id, since),
    }
  }

  *#messages(session: string, since: number): Generator<StoredMessage> {
    const isDated = this.#has("session_message", "time_updated")
    const ids = this.#db
      .query<{ id: string }, [string, number]>(
        `SELECT id FROM session_message WHERE session_id = ?1 ${this.#isNew}
         AND ${isDated ? "time_updated" : "?2"} >= ?2 ORDER BY seq`,
      )
      .all(session, since)
    const message = this.#db.query<StoredRow, [string]>("SELECT * FROM session_message WHERE id = ?")
    for (const { id } of ids) {
      const row = message.get(id)
      if (row !== null) yield* messagesOfRow(row, dataOf(row))
    }
  }
}

/* The files. */

class Files implements Store {
  readonly #folder: string
  /** Of parts that lie side by side, by their messages. */
  #loose: Map<string, StoredRow[]> | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  close(): void {}

  list(): Listed {
    const sessions = this.#projects().flatMap((project) =>
      objectsIn(join(this.#folder, "session", project)).flatMap((row) => {
        const time = objectOf(row["time"])
        const id = row["id"]
        if (typeof id !== "string") return []
        return [{ id, updated: timeOf(time["updated"]), created: timeOf(time["created"]) }]
      }),
    )
    return { sessions }
  }

  session(id: string): StoredSession | undefined {
    for (const project of this.#projects()) {
      const folder = join(this.#folder, "session", project)
      const names = fileNamesIn(folder)
      const name = [`${id}.json`, `ses_${id}.json`].find((one) => names.includes(one))
      const row = name === undefined ? undefined : readJson(join(folder, name))
      if (!isObject(row) || row["id"] !== id) continue
      const messages = inOrder(objectsIn(join(this.#folder, "message", id)))
      const answers = messages.filter(({ role }) => role === "assistant")
      return {
        row,
        updated: timeOf(objectOf(row["time"])["updated"]),
        lastAnswer: createdOf(answers.at(-1)),
        messagesSince: () => this.#withParts(messages),
      }
    }
    return undefined
  }

  *#withParts(messages: readonly StoredRow[]): Generator<StoredMessage> {
    for (const row of messages) {
      const id = String(row["id"])
      const parts = [...objectsIn(join(this.#folder, "part", id)), ...(this.#looseParts().get(id) ?? [])]
      yield { row: asRow(row), parts: parts.map(asRow) }
    }
  }

  #looseParts(): ReadonlyMap<string, StoredRow[]> {
    if (this.#loose !== undefined) return this.#loose
    this.#loose = new Map()
    for (const one of objectsIn(join(this.#folder, "part"))) {
      const message = String(one["messageID"])
      this.#loose.set(message, [...(this.#loose.get(message) ?? []), one])
    }
    return this.#loose
  }

  #projects(): string[] {
    return fileNamesIn(join(this.#folder, "session"))
  }
}

/** A file has the ids among the rest, where a row has them apart. */
function asRow({ id, sessionID, messageID, ...data }: StoredRow): StoredRow {
  return { id, time_created: objectOf(data["time"])["created"], data }
}

const createdOf = (row: StoredRow | undefined): number => timeOf(objectOf(row?.["time"])["created"])

const inOrder = (rows: readonly StoredRow[]): StoredRow[] =>
  rows.toSorted((a, b) => createdOf(a) - createdOf(b) || (String(a["id"]) < String(b["id"]) ? -1 : 1))

/** Objects in the JSON files of a folder, in the order of their names. */
const objectsIn = (folder: string): StoredRow[] =>
  fileNamesIn(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .flatMap((name) => {
      const value = readJson(join(folder, name))
      return isObject(value) ? [value] : []
    })
