/** Puts another database in the archive's place while nobody has it open. If killed at any moment, either is there. */
import { CtxError, codeOf, isDamage } from "../base/errors.ts"
import { flush, statsOf } from "../base/files.ts"
import { closeSync, copyFileSync, existsSync, readdirSync, renameSync, rmSync } from "../base/fs.ts"
import { lock, openLock } from "../base/lock.ts"
import { dirname, join } from "../base/path.ts"
import {
  type Database,
  databasePath,
  newerSchema,
  openFile,
  SCHEMA_VERSION,
  schemaVersion,
} from "./database.ts"
import { gatePath, isLockOf, lockPath, open, renewDeleted } from "./open.ts"
import { shapeProblem } from "./schema-shape.ts"

/** Runs `work` while nobody has the database open. */
export function alone<T>(dataHome: string, wait: number, work: () => T): T {
  const deadline = performance.now() + wait
  for (;;) {
    renewDeleted(dataHome, wait)
    const fd = openLock(lockPath(dataHome))
    try {
      if (!lockAlone(dataHome, fd, deadline)) throw busy()
      if (isLockOf(dataHome, fd)) return work()
    } finally {
      closeSync(fd)
    }
  }
}

/** ms for which nobody new is let in: less than a command waits, more than almost all of them take. */
const GATE_CLOSED = 1000
/** ms in between, so that a long import or job does not keep everybody else out. */
const GATE_OPEN = 100

/** Takes the lock once all who have it now are done, although others keep coming. */
function lockAlone(dataHome: string, fd: number, deadline: number): boolean {
  if (lock(fd, 0)) return true
  for (;;) {
    const gate = openLock(gatePath(dataHome))
    try {
      const turn = Math.min(deadline, performance.now() + GATE_CLOSED)
      if (lock(gate, turn) && lock(fd, turn)) return true
    } finally {
      closeSync(gate)
    }
    if (performance.now() >= deadline) return false
    Bun.sleepSync(GATE_OPEN)
  }
}

/** ms to wait for somebody who is creating or closing the database. */
const PATIENCE = 2000

export const busy = (): CtxError =>
  new CtxError("busy", "another process has the archive open; the views are as they were", {
    hint: "try again when it is done: an import, the background job, or an SQLite tool",
  })

/** What is wrong with the database, after checking every page and its tables; undefined if it is sound or missing. */
export function damageOf(dataHome: string): unknown {
  const path = databasePath(dataHome)
  if (!existsSync(path)) return undefined
  try {
    using db = open(dataHome, "look")
    const row = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()
    return row?.integrity_check === "ok" ? shapeProblem(db) : (row?.integrity_check ?? "it cannot be checked")
  } catch (error) {
    if (isDamage(error)) return error
    throw error
  }
}

/**
 * Moves everything that is not a view from the old database into the new one, and empties the old one's log, which
 * would otherwise be taken for the new one's. Call inside `alone`.
 *
 * @returns what was found wrong with the old database
 * @throws CtxError `newer-schema` if a later version wrote it; it is then not replaced
 */
export function carryOver(dataHome: string, to: Database, wait: number): unknown {
  const path = databasePath(dataHome)
  // Just created, perhaps by ourselves.
  if (statsOf(path)?.size === 0) return undefined
  let old: Database | undefined
  try {
    refuseNewer(path)
    old = openFile(path, "salvage", wait)
    const damage = copyRows(old, to)
    const log = old.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get()
    if (log?.busy === 1) throw busy()
    return damage
  } catch (error) {
    if (codeOf(error) === "SQLITE_BUSY") throw busy()
    // Tables that a damaged schema lacks or has twice are plain errors to SQLite.
    if (!isDamage(error) && codeOf(error) !== "SQLITE_ERROR") throw error
    return error
  } finally {
    old?.close()
  }
}

/** @throws CtxError `newer-schema` */
export function refuseNewer(path: string): void {
  if (!existsSync(path)) return
  let db: Database | undefined
  try {
    db = openFile(path, "read", PATIENCE)
    const version = schemaVersion(db)
    if (version > SCHEMA_VERSION && shapeProblem(db) === undefined) throw newerSchema(version)
  } catch (error) {
    if (!isDamage(error)) throw error
  } finally {
    db?.close()
  }
}

/** Only hooks know these, so the vault cannot give them back. */
const KEPT = {
  restores: "SELECT session, source, mark, time, text FROM restores ORDER BY id",
  lineage: "SELECT child, parent, kind FROM lineage WHERE kind = 'clear'",
} as const

/** @returns why some of it could not be read */
function copyRows(old: Database, to: Database): unknown {
  let damage: unknown
  to.transaction(() => {
    for (const [table, query] of Object.entries(KEPT)) {
      try {
        for (const row of old.query<Record<string, string | number>, []>(query).iterate()) {
          const columns = Object.keys(row)
          const places = columns.map(() => "?").join(", ")
          to.query(`INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${places})`).run(
            ...Object.values(row),
          )
        }
      } catch (error) {
        if (!isDamage(error) && codeOf(error) !== "SQLITE_ERROR") throw error
        damage = error
      }
    }
  }).immediate()
  return damage
}

/** Limits how many are kept, so that a failing disk does not fill up with damaged files. */
const KEPT_DAMAGED = 3

/** Keeps a copy beside the database, with its log, for anyone who wants to examine it. */
export function copyAside(dataHome: string, now: number): string {
  const path = databasePath(dataHome)
  const name = new Date(now).toISOString().replace(/[-:]/g, "").replace(/\..*/, "")
  const earlier = readdirSync(dataHome).filter((file) => /^archive\.db\.damaged-[^.]*$/.test(file))
  for (const file of earlier
    .filter((one) => !one.endsWith("-wal"))
    .sort()
    .slice(0, 1 - KEPT_DAMAGED)) {
    for (const suffix of ["", "-wal"]) rmSync(join(dataHome, file) + suffix, { force: true })
  }
  let target = `${path}.damaged-${name}`
  for (let n = 2; existsSync(target); n++) target = `${path}.damaged-${name}-${n}`
  for (const suffix of ["-wal", ""]) {
    if (existsSync(path + suffix)) copyFileSync(path + suffix, target + suffix)
  }
  return target
}

/** @param file a closed database without a log */
export function putInPlace(dataHome: string, file: string): void {
  const path = databasePath(dataHome)
  flush(file)
  // Already empty unless the file is damaged, and then nothing in it counts any more.
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true })
  renameSync(file, path)
  flush(dirname(path))
}
