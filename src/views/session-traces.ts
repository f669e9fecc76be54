/**
 * Traces of sessions outside the vault: hooks' files, texts that were given back, kept copies of damaged databases. The
 * views themselves follow by whoever changed the vault (removal.ts).
 */
import { rmSync, statSync } from "node:fs"
import { codeOf, isDamage, isMissing } from "../base/errors.ts"
import { fileNamesIn } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { removeKnown } from "../vault/known-values.ts"
import { dropPending } from "../vault/pending.ts"
import { type Database, databasePath } from "./database.ts"
import { removePages } from "./kept-pages.ts"
import { open } from "./open.ts"
import { dropPrepared } from "./reminders.ts"
import { removeSessionFiles, removeSharedState } from "./session-files.ts"

export interface Traces {
  /** Sessions of which something was removed from the vault, without their subagents. */
  readonly sessions: ReadonlySet<string>
  /** Those that were removed altogether. */
  readonly whole: ReadonlySet<string>
  /** Sessions that may have been told about them; undefined: unknown, so any of them. */
  readonly told: ReadonlySet<string> | undefined
  /** Whether these bytes contain what is to be forgotten. */
  readonly matches?: (bytes: Uint8Array) => boolean
}

/**
 * Call before the views follow and once more afterwards, as hooks may have been at work meanwhile.
 *
 * @returns how many rows of the database were changed
 */
export function eraseTraces(dataHome: string, traces: Traces): number {
  const { sessions, whole, matches = () => false } = traces
  removeSessionFiles(dataHome, (name, bytes) => isOf(name, bytes, sessions) || matches(bytes))
  removeSharedState(dataHome, sessions)
  for (const session of whole) removeKnown(dataHome, session)
  dropPending(dataHome, ({ session }) => whole.has(session.split("/", 1)[0]!))
  dropPrepared(dataHome)
  removeKeptDatabases(dataHome)
  removePages(dataHome)
  return eraseRows(dataHome, traces)
}

/** Matches `<session>.json`, what a killed process has left of it, and a note that /clear ended that session. */
function isOf(name: string, bytes: Uint8Array, sessions: ReadonlySet<string>): boolean {
  const at = name.indexOf(".json")
  if (at > 0 && sessions.has(name.slice(0, at))) return true
  if (!name.startsWith("clear-")) return false
  const text = new TextDecoder().decode(bytes)
  return [...sessions].some((session) => text.includes(JSON.stringify(session)))
}

/** Removes copies of damaged databases: they hold what the views held, and cannot be cleaned. */
export function removeKeptDatabases(dataHome: string): void {
  for (const file of keptDatabases(dataHome)) rmSync(file, { force: true })
}

/** The copies of damaged databases. */
export function keptDatabases(dataHome: string): string[] {
  const names = fileNamesIn(dataHome, isMissing).filter((name) => /^archive\.db\.damaged-/.test(name))
  return names.map((name) => join(dataHome, name))
}

/** Sessions of the same projects, those that continue the forgotten ones, and those known only from `restores`. */
export function toldOf(db: Database, sessions: ReadonlySet<string>): ReadonlySet<string> {
  const names = JSON.stringify([...sessions])
  const rows = db
    .query<{ id: string }, [string]>(
      `SELECT id FROM sessions WHERE project IN
         (SELECT project FROM sessions WHERE id IN (SELECT value FROM json_each(?1)))
       UNION SELECT child FROM lineage WHERE parent IN (SELECT value FROM json_each(?1))
       UNION SELECT session FROM restores WHERE session NOT IN (SELECT id FROM sessions)`,
    )
    .all(names)
  return new Set(rows.map(({ id }) => id))
}

function eraseRows(dataHome: string, traces: Traces): number {
  if (statSync(databasePath(dataHome), { throwIfNoEntry: false }) === undefined) return 0
  let db: Database | undefined
  try {
    db = open(dataHome, "erase")
    // Deleted rows must not survive in free pages, even after the views are new.
    db.run("PRAGMA secure_delete = ON")
    const changed = inSound(changeRestores, db, traces) + inSound(changeLineage, db, traces)
    if (changed > 0) db.query("PRAGMA wal_checkpoint(TRUNCATE)").get()
    return changed
  } catch (error) {
    if (!isReplaced(error)) throw error
    return 0
  } finally {
    db?.close()
  }
}

/** A damaged database is replaced as a whole, except what can still be read of these tables. */
const isReplaced = (error: unknown): boolean => isDamage(error) || codeOf(error) === "SQLITE_ERROR"

function inSound(change: (db: Database, traces: Traces) => number, db: Database, traces: Traces): number {
  try {
    return change(db, traces)
  } catch (error) {
    if (!isReplaced(error)) throw error
    return 0
  }
}

interface Restore {
  readonly id: number
  readonly session: string
  readonly text: string
}

/** @returns how many rows were changed */
function changeRestores(db: Database, { sessions, whole, told, matches }: Traces): number {
  return db
    .transaction(() => {
      let changed = 0
      const rows = db.query<Restore, []>("SELECT id, session, text FROM restores").all()
      for (const { id, session, text } of rows) {
        const isTold = sessions.has(session) || told === undefined || told.has(session)
        if (whole.has(session)) changed += db.query("DELETE FROM restores WHERE id = ?").run(id).changes
        else if (text !== "" && (isTold || matches?.(new TextEncoder().encode(text)))) {
          changed += db.query("UPDATE restores SET text = '' WHERE id = ?").run(id).changes
        }
      }
      return changed
    })
    .immediate()
}

function changeLineage(db: Database, { whole }: Traces): number {
  const names = JSON.stringify([...whole])
  return db
    .transaction(
      () =>
        db
          .query(
            `DELETE FROM lineage WHERE kind = 'clear' AND (child IN (SELECT value FROM json_each(?1))
               OR parent IN (SELECT value FROM json_each(?1)))`,
          )
          .run(names).changes,
    )
    .immediate()
}
