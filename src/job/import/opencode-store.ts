/**
 * Reads what opencode keeps of its sessions: a database that may be in use and have gigabytes, and before that, files of
 * their own for each message and part. Nothing of it is changed, and only what is asked for is read.
 */
import { readdirSync, statSync } from "node:fs"
import type { StoredMessage, StoredRow } from "../../agents/opencode/opencode-lines.ts"
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
  /** ms since the epoch, of its last change and of its beginning. */
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

/** `opencode.db`, and those of its other channels. */
const DATABASE = /^opencode(?:-[\w.-]+)?\.db$/

/** Whether a folder is opencode's and has sessions. */
export const isOpencodeFolder = (folder: string): boolean =>
  /\/opencode$/.test(folder) && placesIn(folder).length > 0

/** The newest way of keeping them first. */
function placesIn(folder: string): string[] {
  const names = (tryTo(() => readdirSync(folder)) ?? []).filter((name) => DATABASE.test(name))
  const files = names.sort((a, b) => a.length - b.length).map((name) => join(folder, name))
  const older = join(folder, "storage", "session")
  return [
    ...files.filter((file) => statsOf(file)?.isFile()),
    ...(statsOf(older)?.isDirectory() ? [older] : []),
  ]
}

function opened(place: string, folder: string): Store {
  return place.endsWith(".db") ? new Rows(place) : new Files(join(folder, "storage"))
}

/** All sessions of a folder. One that is in several places is told once. */
export function opencodeSessions(folder: string): ListedSession[] {
  const found = new Map<string, ListedSession>()
  for (const place of placesIn(folder)) {
    const store = opened(place, folder)
    try {
      for (const one of store.sessions()) if (isPlainId(one.id) && !found.has(one.id)) found.set(one.id, one)
    } finally {
      store.close()
    }
  }
  return [...found.values()]
}

/** Calls `work` with a session, or with undefined if it is nowhere. */
export function withStored<T>(
  folder: string,
  id: string,
  work: (session: StoredSession | undefined) => T,
): T {
  for (const place of placesIn(folder)) {
    const store = opened(place, folder)
    try {
      const session = store.session(id)
      if (session !== undefined) return work(session)
    } finally {
      store.close()
    }
  }
  return work(undefined)
}

/** Times are numbers, but for what other programs have written. */
export const timeOf = (value: unknown): number =>
  typeof value === "number" ? value : typeof value === "string" ? Date.parse(value) || 0 : 0

/* The database. */

/** ms to wait for opencode. */
const PATIENCE = 2000
const NEEDED = {
  session: ["id", "directory"],
  message: ["id", "session_id", "data"],
  part: ["id", "message_id", "data"],
}

class Rows implements Store {
  readonly #db: Database
  readonly #has: (table: string, column: string) => boolean

  constructor(file: string) {
    // What is only in the log is the latest.
    const isInUse = (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
    this.#db = openFile(file, isInUse ? "foreign-live" : "foreign-at-rest", PATIENCE)
    const columns = new Map<string, readonly string[]>()
    this.#has = (table, column) => {
      if (!columns.has(table)) columns.set(table, columnsOf(this.#db, table))
      return columns.get(table)!.includes(column)
    }
    const lacking = Object.entries(NEEDED).find(([table, all]) =>
      all.some((column) => !this.#has(table, column)),
    )
    if (lacking === undefined) return
    this.#db.close()
    throw new CtxError("foreign-unknown", `the table ${lacking[0]} is not as opencode 1 has it`, {
      hint: "a newer ctxbridge may know it",
    })
  }

  close(): void {
    this.#db.close()
  }

  sessions(): ListedSession[] {
    const time = (column: string): string => (this.#has("session", column) ? column : "0")
    return this.#db
      .query<{ id: string; updated: unknown; created: unknown }, []>(
        `SELECT id, ${time("time_updated")} AS updated, ${time("time_created")} AS created FROM session`,
      )
      .all()
      .map(({ id, updated, created }) => ({ id, updated: timeOf(updated), created: timeOf(created) }))
  }

  session(id: string): StoredSession | undefined {
    const row = this.#db.query<StoredRow, [string]>("SELECT * FROM session WHERE id = ?").get(id)
    if (row === null) return undefined
    const last = this.#db
      .query<{ time: unknown }, [string]>(
        `SELECT time_created AS time FROM message WHERE session_id = ?
         AND json_valid(data) AND json_extract(data, '$.role') = 'assistant'
         ORDER BY time_created DESC, id DESC LIMIT 1`,
      )
      .get(id)
    return {
      row,
      updated: timeOf(row["time_updated"]),
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
