/**
 * Opens another tool's SQLite file without changing anything: no lock, no journal, no new file next to it.
 *
 * The file may be damaged or malicious. Only its ordinary tables are read; views and virtual tables could run code.
 */
import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { CtxError, isCtxError, messageOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { isAlive } from "../../base/own-program.ts"
import { join } from "../../base/path.ts"
import { type Database, openFile } from "../../views/database.ts"

interface OpenedFile {
  readonly db: Database
  close(): void
}

/**
 * A file at rest is read in place. A journal next to it means that the file is in use, or was when its tool died. Then
 * the latest writes are in the journal, and both are copied before they are read.
 *
 * @param scratch folder for that copy, which `close` deletes
 * @throws CtxError `foreign-damaged`
 */
export function openUntouched(file: string, scratch: string): OpenedFile {
  const journals = ["-wal", "-journal"].filter((suffix) => sizeOf(file + suffix) > 0)
  const copy = journals.length === 0 ? undefined : copied(file, journals, scratch)
  let db: Database | undefined
  const close = (): void => {
    db?.close()
    if (copy !== undefined) rmSync(copy.folder, { recursive: true, force: true })
  }
  try {
    db = copy === undefined ? openFile(file, "foreign-at-rest") : openFile(copy.file, "foreign")
    check(db)
    return { db, close }
  } catch (cause) {
    close()
    if (isCtxError(cause)) throw cause
    throw damaged(messageOf(cause), cause)
  }
}

/** Checks every page before anything is taken, because half an archive is worse than an error. */
function check(db: Database): void {
  const row = db.query<Record<string, string>, []>("PRAGMA quick_check(1)").get()
  const [found] = Object.values(row ?? {})
  if (found !== "ok") throw damaged(String(found), undefined)
}

const damaged = (why: string, cause: unknown): CtxError =>
  new CtxError("foreign-damaged", `the database is damaged: ${why.replace(/\s+/g, " ").slice(0, 200)}`, {
    hint: "nothing of it was taken; the sqlite3 program's .recover may save the rest",
    cause,
  })

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

const PREFIX = "foreign-"
/** The tool may write while we copy. */
const ATTEMPTS = 5

function copied(
  file: string,
  journals: readonly string[],
  scratch: string,
): { file: string; folder: string } {
  sweep(scratch)
  const folder = join(scratch, `${PREFIX}${process.pid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const target = join(folder, "copy.db")
  const state = (): string =>
    ["", ...journals]
      .map((suffix) => statSync(file + suffix, { throwIfNoEntry: false }))
      .map((stats) => `${stats?.size} ${stats?.mtimeMs}`)
      .join(" ")
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = state()
      for (const suffix of ["", ...journals]) {
        if (sizeOf(file + suffix) > 0) copyFileSync(file + suffix, target + suffix)
      }
      if (state() === before) return { file: target, folder }
    }
    throw new CtxError("foreign-busy", "its tool is writing to it", { hint: "try again when that is idle" })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** Removes copies left by killed imports. */
function sweep(scratch: string): void {
  for (const name of tryTo(() => readdirSync(scratch)) ?? []) {
    if (name.startsWith(PREFIX) && !isAlive(Number(name.slice(PREFIX.length))))
      rmSync(join(scratch, name), { recursive: true, force: true })
  }
}

/** The columns of an ordinary table; empty if there is no such table. */
export const columnsOf = (db: Database, table: string): string[] =>
  db
    .query<{ name: string }, [string]>(
      `SELECT c.name FROM sqlite_schema s, pragma_table_info(s.name) c
       WHERE s.type = 'table' AND s.name = ? AND s.sql NOT LIKE 'CREATE VIRTUAL%'`,
    )
    .all(table)
    .map(({ name }) => name)
