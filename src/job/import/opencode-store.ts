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
import { CtxError } from "../../base/errors.ts"
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

interface Store {
  readonly sessions: () => ListedSession[]
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
 * @param onUnreadable called with each database that cannot be read: the others are
 */
export function opencodeSessions(folder: string, onUnreadable?: (file: string) => void): ListedSession[] {
  const found = new Map<string, ListedSession>()
  for (const place of placesIn(folder)) {
    const sessions = tryTo(() => sessionsAt(place, folder))
    if (sessions === undefined) onUnreadable?.(place)
    for (const one of sessions ?? [])
      if (isPlainId(one.id) && one.updated > (found.get(one.id)?.updated ?? -1)) found.set(one.id, one)
  }
  return [...found.values()]
}

function sessionsAt(place: string, folder: string): ListedSession[] {
  const store = opened(place, folder)
  try {
    return store.sessions()
  } finally {
    store.close()
  }
}

/** Reads no more of a database than that it can be read. @throws CtxError `foreign-unknown`; any error of SQLite's */
export function readDatabase(file: string): void {
  sessionsAt(file, "")
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
  readonly #tables: readonly (Tables1 | Tables2)[]

  constructor(file: string) {
    // Also an empty log: whoever has the database open may write at any moment, and what is only in the log is the latest.
    const isInUse = ["-wal", "-shm"].some((suffix) => statsOf(file + suffix) !== undefined)
    this.#db = openFile(file, isInUse ? "foreign-live" : "foreign-at-rest", PATIENCE)
    const columns = new Map<string, readonly string[]>()
    const has: HasColumn = (table, column) => {
      if (!columns.has(table)) columns.set(table, columnsOf(this.#db, table))
      return columns.get(table)!.includes(column)
    }
    try {
      const [lacking1, lacking2] = [NEEDED, NEEDED_2].map((needed) => lackingOf(needed, has))
      if (lacking1 !== undefined && lacking2 !== undefined)
        throw new CtxError("foreign-unknown", `the table ${lacking1} is not as opencode has it`, {
          hint: "a newer ctxbridge may know it",
        })
      this.#tables = [
        ...(lacking2 === undefined ? [new Tables2(this.#db, has, lacking1 === undefined)] : []),
        ...(lacking1 === undefined ? [new Tables1(this.#db, has)] : []),
      ]
    } catch (error) {
      this.#db.close()
      throw error
    }
  }

  close(): void {
    this.#db.close()
  }

  sessions(): ListedSession[] {
    const found = new Map<string, ListedSession>()
    for (const one of this.#tables.flatMap((tables) => tables.sessions())) {
      const before = found.get(one.id)
      found.set(one.id, before === undefined || one.updated > before.updated ? one : before)
    }
    return [...found.values()]
  }

  session(id: string): StoredSession | undefined {
    const found = this.#tables.flatMap((tables) => tables.session(id) ?? [])
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

const NEEDED_2 = {
  session_v2: ["id", "directory", "time_created"],
  session_message: ["id", "session_id", "type", "seq", "data"],
}

/** Rows say what they are, and each has all of a message. What opencode 1 has left there is in its own tables as well. */
class Tables2 {
  readonly #db: Database
  readonly #has: HasColumn
  /** Conditions on messages. */
  readonly #isNew: string

  constructor(db: Database, has: HasColumn, hasOlder: boolean) {
    this.#db = db
    this.#has = has
    this.#isNew = hasOlder ? "AND id NOT IN (SELECT id FROM message WHERE session_id = ?1)" : ""
  }

  #updated(table: string): string {
    return this.#has(table, "time_updated") ? "time_updated" : "0"
  }

  /** When a session and its last messages were changed last. */
  get #changes(): string {
    return `max(${this.#updated("session_v2")}, coalesce((SELECT max(${this.#updated("session_message")}) FROM
      (SELECT * FROM session_message WHERE session_id = session_v2.id ORDER BY seq DESC LIMIT ${LATEST})), 0)) AS updated`
  }

  sessions(): ListedSession[] {
    return this.#db
      .query<{ id: string; created: unknown; updated: unknown }, []>(
        `SELECT id, time_created AS created, ${this.#changes} FROM session_v2`,
      )
      .all()
      .map(({ id, created, updated }) => ({ id, created: timeOf(created), updated: timeOf(updated) }))
  }

  session(id: string): StoredSession | undefined {
    const row = this.#db.query<StoredRow, [string]>("SELECT * FROM session_v2 WHERE id = ?").get(id)
    const changes = this.#db
      .query<{ updated: unknown }, [string]>(`SELECT ${this.#changes} FROM session_v2 WHERE id = ?`)
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

  sessions(): ListedSession[] {
    return this.#projects().flatMap((project) =>
      objectsIn(join(this.#folder, "session", project)).flatMap((row) => {
        const time = objectOf(row["time"])
        const id = row["id"]
        if (typeof id !== "string") return []
        return [{ id, updated: timeOf(time["updated"]), created: timeOf(time["created"]) }]
      }),
    )
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
