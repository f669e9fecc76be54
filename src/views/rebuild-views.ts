/**
 * Makes all views anew from the vault, in a separate database that replaces the old one at the end. If killed at any
 * moment, the old views remain.
 */
import { codeOf, messageOf, throwBusy } from "../base/errors.ts"
import { statsOf, tryTo } from "../base/files.ts"
import { existsSync, mkdirSync, readdirSync, rmSync } from "../base/fs.ts"
import { readJson, writeJson } from "../base/json-files.ts"
import { isLockFree, withLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"
import { isBesideCopy, isHistoryCopy } from "../vault/layout.ts"
import { findLosses } from "../vault/lost-copies.ts"
import { forgottenOf, ownerOf, readTombstone } from "../vault/tombstones.ts"
import { markBehind, markComplete } from "./completeness.ts"
import { type Database, databasePath, openFile, prepareForLongWork } from "./database.ts"
import { indexCopy, type OnGap, untilDone, type ViewsGap } from "./indexing.ts"
import { joinProjects, readJoined } from "./joined-projects.ts"
import { doubtVault, listVault } from "./list-vault.ts"
import { isUnforgotten, putLost, stashLost } from "./lost-rows.ts"
import { projectOf } from "./project.ts"
import { promptsOnlySessions } from "./queries/sessions.ts"
import { IS_TURN } from "./queries/turns.ts"
import { dropPrepared } from "./reminders.ts"
import { alone, busy, carryOver, copyAside, damageOf, putInPlace, refuseNewer } from "./replace-database.ts"
import { knownCopies } from "./transcript-rows.ts"
import { carryVectors } from "./vectors.ts"
import { type Source, sources } from "./view-sources.ts"

export interface RebuildReport {
  readonly copies: number
  readonly turns: number
  readonly messages: number
  /** Copies that could not be read to their end; `verify` tells more. */
  readonly unreadable: readonly { readonly copy: string; readonly error: string }[]
  /** What could not be read within copies; what comes after it was. */
  readonly gaps: readonly Omit<ViewsGap, "copyId">[]
  /** Copies of which the vault has nothing or less than it had, and how many turns of their sessions the views keep. */
  readonly missing: readonly MissingCopy[]
  /** Where the former database was copied because it was damaged. */
  readonly damaged: string | null
  readonly ms: number
}

interface MissingCopy {
  readonly copy: string
  readonly session: string
  readonly turns: number
}

export interface RebuildOptions {
  /** ms since the epoch. */
  readonly now: number
  /** ms to wait until nobody has the database open. */
  readonly wait: number
  /** The reason if nobody asked for it; `status` then reports it. */
  readonly reason?: string
  readonly onProgress?: (done: number, total: number) => void
  /** Whether nothing of a session may come over from the former views: something of it was removed from the vault. */
  readonly isRemoved?: (session: string, path: string) => boolean
  /** Fills what is not to be kept in the texts of copies that are missing. */
  readonly rewrite?: (text: string) => string
}

/** ms of indexing between two commits. */
const SLICE = 300
/** ms to wait for programs that do not know our lock, while everybody else is waiting for us. */
const STRANGERS = 500
/** Copies may grow while we read, so they are visited again; in the end the rest is left to their markers. */
const ROUNDS = 3

const rebuildLock = (dataHome: string): string => join(dataHome, "rebuild.lock")

/**
 * Waits until nobody is rebuilding the views.
 *
 * @param wait ms
 * @returns false if somebody was throughout
 */
export const untilRebuilt = (dataHome: string, wait: number): boolean =>
  isLockFree(rebuildLock(dataHome), performance.now() + wait)

/** @throws CtxError `busy`, `newer-schema`; the old views then remain */
export function rebuild(dataHome: string, options: RebuildOptions): RebuildReport {
  const start = performance.now()
  return alonePreparing(dataHome, 0, () => {
    const path = databasePath(dataHome)
    const file = `${path}.new-${process.pid}`
    try {
      const built = build(dataHome, file, options)
      // What cannot be read is looked at by the next import.
      tryTo(() => {
        listVault(dataHome)
        doubtVault(
          dataHome,
          [...built.unreadable, ...built.gaps].map(({ copy }) => copy),
        )
      })
      return { ...built, ms: Math.round(performance.now() - start) }
    } finally {
      remove(file)
    }
  })
}

/**
 * Runs `work` while nobody else prepares views to replace these.
 *
 * @param wait ms
 * @throws CtxError `busy`, `newer-schema`
 */
export function alonePreparing<T>(dataHome: string, wait: number, work: () => T): T {
  mkdirSync(dataHome, { recursive: true, mode: 0o700 })
  const prepare = (): T => {
    refuseNewer(databasePath(dataHome))
    removeLeftovers(dataHome)
    return work()
  }
  return withLockFile(rebuildLock(dataHome), wait, prepare, () =>
    throwBusy("the views are already being rebuilt"),
  )
}

/** Removes what a killed rebuild has left. */
function removeLeftovers(dataHome: string): void {
  for (const name of readdirSync(dataHome)) {
    if (name.startsWith("archive.db.new-")) rmSync(join(dataHome, name), { force: true })
  }
}

function remove(file: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(file + suffix, { force: true })
}

function build(dataHome: string, file: string, options: RebuildOptions): Omit<RebuildReport, "ms"> {
  const before = damageOf(dataHome)
  const db = openFile(file, "create")
  try {
    prepareForLongWork(db)
    // If we are killed the file is discarded, so it need not be on disk before the end.
    db.run("PRAGMA journal_mode = MEMORY")
    db.run("PRAGMA synchronous = OFF")
    db.transaction(() => joinProjects(db, readJoined(dataHome).joins, true)).immediate()
    const promptsOnly = formerPromptsOnly(databasePath(dataHome))
    const kept = promptsOnly.filter((session) => readTombstone(dataHome, session)?.whole !== true)
    const inVault = sources(dataHome).map(({ session }) => session)
    carryProjects(databasePath(dataHome), db, new Set([...inVault, ...kept]))
    const { copies, unreadable, gaps } = fill(db, dataHome, options)
    carryLost(db, dataHome, gaps, options)
    dropUnread(db)
    carryVectors(databasePath(dataHome), db)
    const { turns, messages } = counted(db)
    const missing = missingIn(db, dataHome)
    markComplete(db)
    return alone(dataHome, options.wait, () => {
      const damage = carryOver(dataHome, db, STRANGERS) ?? before
      // Covers what was archived meanwhile, and what was indexed only into the old views.
      markBehind(db, dataHome)
      db.run("PRAGMA journal_mode = WAL")
      db.close()
      const damaged = damage === undefined ? null : copyAside(dataHome, options.now)
      putInPlace(dataHome, file)
      dropPrepared(dataHome)
      const reason = damage === undefined ? options.reason : messageOf(damage)
      if (reason !== undefined) {
        rememberRepair(dataHome, { time: new Date(options.now).toISOString(), reason, damaged, turns })
      }
      return { copies, turns, messages, unreadable, gaps: gaps.map(publicGap), missing, damaged }
    })
  } finally {
    db.close()
  }
}

export const counted = (db: Database): { turns: number; messages: number } =>
  db
    .query<{ turns: number; messages: number }, []>(
      `SELECT (SELECT count(*) FROM turns t WHERE ${IS_TURN}) AS turns,
         (SELECT count(*) FROM messages) - (SELECT count(*) FROM turns WHERE via = 'history') AS messages`,
    )
    .get()!

/** Brings over what the former views know of copies that cannot be read any more. */
function carryLost(
  db: Database,
  dataHome: string,
  gaps: readonly ViewsGap[],
  { rewrite, isRemoved = () => false }: RebuildOptions,
): void {
  const path = databasePath(dataHome)
  if ((statsOf(path)?.size ?? 0) === 0) return
  let carried: string[] = []
  try {
    db.run(`PRAGMA busy_timeout = ${STRANGERS}`)
    db.run("PRAGMA temp_store = MEMORY")
    db.query("ATTACH ? AS old").run(path)
    const isKept = (session: string, of: string): boolean =>
      !isRemoved(session, of) && isUnforgotten(dataHome, ownerOf(session, of))
    carried = db
      .transaction(() => {
        if (!stashLost(db, dataHome, { from: "old", gaps, isKept })) return []
        return putLost(db, rewrite)
      })
      .immediate()
  } catch (error) {
    // Former views that are damaged cannot tell; nothing else gets lost by that.
    if (!codeOf(error).startsWith("SQLITE_")) throw error
  } finally {
    tryTo(() => db.run("DETACH old"))
  }
  // What came after the former views were made.
  const concerned = new Set(carried)
  if (carried.length > 0)
    for (const one of sources(dataHome)) if (concerned.has(one.session)) follow(db, dataHome, one, () => {})
}

const publicGap = ({ copy, from, to, error }: ViewsGap) => ({ copy, from, to, error })

/** Copies that are gone, or have less than they had, and that Claude Code cannot give back either. */
export function missingIn(db: Database, dataHome: string): MissingCopy[] {
  const { lost } = findLosses({ dataHome, known: knownCopies(db) })
  const own = db.query<{ n: number }, [string, string]>(
    `SELECT count(*) AS n FROM turns t JOIN transcripts c ON c.id = t.transcript
     WHERE c.copy_id = ? AND t.session = ?`,
  )
  // Those of other sessions, too: of subagents, and of all that only the list of prompts knows.
  const any = db.query<{ n: number }, [string]>(
    `SELECT count(DISTINCT m.turn) AS n FROM messages m
     WHERE m.transcript = (SELECT id FROM transcripts WHERE copy_id = ?)`,
  )
  const turnsOf = ({ id, copy, session }: (typeof lost)[number]): number =>
    (isHistoryCopy(copy) || isBesideCopy(copy) ? any.get(id) : own.get(id, session))?.n ?? 0
  return lost
    .filter(({ session, path }) => forgottenOf(dataHome, session, path)?.whole !== true)
    .map((one) => ({ copy: one.copy, session: one.session, turns: turnsOf(one) }))
}

type Unreadable = RebuildReport["unreadable"][number]

function fill(db: Database, dataHome: string, { onProgress }: RebuildOptions) {
  const unreadable = new Map<string, Unreadable>()
  const gaps = new Map<string, ViewsGap>()
  const onGap = (gap: ViewsGap): void => void gaps.set(`${gap.copyId} ${gap.from}`, gap)
  let copies = 0
  for (let round = 0; round < ROUNDS; round++) {
    const all = sources(dataHome)
    const total = all.reduce((sum, { bytes }) => sum + bytes, 0)
    let done = 0
    copies = all.length
    for (const one of all) {
      if (!unreadable.has(one.copy)) {
        const error = follow(db, dataHome, one, onGap)
        if (error !== undefined) unreadable.set(one.copy, { copy: one.copy, error: messageOf(error) })
      }
      done += one.bytes
      if (round === 0) onProgress?.(done, total)
    }
  }
  return { copies, unreadable: [...unreadable.values()], gaps: [...gaps.values()] }
}

/** @returns why the copy could not be read to its end; everything before that point is in the views */
function follow(db: Database, dataHome: string, copy: Source, onGap: OnGap): unknown {
  let damage: unknown
  for (let last = -1; ; ) {
    const stop = performance.now() + SLICE
    const row = db
      .transaction(() => {
        try {
          return indexCopy(db, dataHome, copy, untilDone(stop), [], onGap)
        } catch (error) {
          if (codeOf(error).startsWith("SQLITE_")) throw error
          damage = error
          return undefined
        }
      })
      .immediate()
    // No progress means that only half a line is left.
    if (row === undefined || row.indexed >= row.archived || row.indexed === last) return damage
    last = row.indexed
  }
}

/*
 * Keeps the project of sessions whose folder is gone, such as a removed worktree or a moved repository. The files that
 * told the project have gone with the folder, so only the former views know it.
 */

interface Row {
  readonly id: string
  readonly parent: string | null
  readonly agent: string | null
  readonly cwd: string
  readonly project: string
}

/** ms to wait for others. A process that exits moves the whole log over, and nobody can read meanwhile. */
const PATIENCE = 2000

/**
 * Creates these sessions in new views, so that they stay in their project.
 *
 * @param path of the former database
 * @param sessions that the vault holds: no trace of any other may get into the new file
 * @param wait ms
 * @throws CtxError `busy`, since without the former views the projects would be lost for good
 */
export function carryProjects(
  path: string,
  to: Database,
  sessions: ReadonlySet<string>,
  wait = PATIENCE,
): void {
  const lost = formerly(path, wait, (old) => lostProjects(old, sessions))
  to.transaction(() => createSessions(to, lost)).immediate()
}

/** The sessions among these whose folder is gone. */
export const lostProjects = (db: Database, sessions: ReadonlySet<string>): readonly Row[] =>
  db
    .query<Row, []>(
      `SELECT s.id, s.parent, s.agent, s.cwd, p.path AS project FROM sessions s JOIN projects p ON p.id = ${ownIn(db)}
       WHERE s.cwd IS NOT NULL ORDER BY s.id`,
    )
    .all()
    .filter((row) => sessions.has(row.id) && isLost(row))

/** The project of the session's own folder. An earlier version's views join none. */
const ownIn = (db: Database): string => (hasColumn(db, "own") ? "coalesce(s.own, s.project)" : "s.project")

const hasColumn = (db: Database, column: string): boolean =>
  db.query("SELECT 1 FROM pragma_table_info('sessions') WHERE name = ?").get(column) !== null

/** Call inside a transaction, before their lines are read. */
export function createSessions(to: Database, lost: readonly Row[]): void {
  for (const { id, parent, agent, cwd, project } of lost) {
    to.query("INSERT INTO projects (path) VALUES (?) ON CONFLICT DO NOTHING").run(project)
    to.query(
      `INSERT INTO sessions (id, project, own, parent, agent, cwd)
       SELECT ?1, coalesce(joined, id), iif(joined IS NULL, NULL, id), ?3, ?4, ?5 FROM projects WHERE path = ?2`,
    ).run(id, project, parent, agent, cwd)
  }
}

/** Whether the project can no longer be told: the folder is gone, or it is a worktree of a repository that is. */
function isLost({ cwd, project }: Row): boolean {
  const now = projectOf(cwd)
  return !existsSync(now) || (!existsSync(project) && statsOf(join(now, ".git"))?.isFile() === true)
}

/** Removes sessions of which nothing could be read. Call after all copies have been read. */
export function dropUnread(db: Database): void {
  db.run(
    "DELETE FROM sessions WHERE id NOT IN (SELECT session FROM transcripts) AND id NOT IN (SELECT session FROM turns)",
  )
  db.run(
    `DELETE FROM projects WHERE id NOT IN (SELECT project FROM sessions WHERE project IS NOT NULL
      UNION ALL SELECT own FROM sessions WHERE own IS NOT NULL)`,
  )
}

/**
 * Sessions of which the former views know the prompts only: the vault has no copy of theirs.
 *
 * @throws CtxError `busy`
 */
const formerPromptsOnly = (path: string, wait = PATIENCE): string[] =>
  formerly(path, wait, (old) => (hasColumn(old, "prompts_only") ? promptsOnlySessions(old) : []))

/** @param path of the former database */
function formerly<T>(path: string, wait: number, look: (old: Database) => readonly T[]): T[] {
  if (!existsSync(path)) return []
  let old: Database | undefined
  try {
    old = openFile(path, "read", wait)
    return [...look(old)]
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_BUSY")) throw busy()
    // It is damaged; folders that are gone then become projects of their own.
    if (!codeOf(error).startsWith("SQLITE_")) throw error
    return []
  } finally {
    old?.close()
  }
}

/* When the views were last rebuilt because they were damaged or lost; for `status`. */

export interface ViewsRepair {
  /** ISO 8601. */
  readonly time: string
  readonly reason: string
  /** Where the damaged file was copied; null if there was none. */
  readonly damaged: string | null
  /** Turns in the views afterwards. */
  readonly turns: number
}

const fileOf = (dataHome: string): string => join(dataHome, "repair.json")

function rememberRepair(dataHome: string, repair: ViewsRepair): void {
  // The views matter more than this record.
  tryTo(() => writeJson(fileOf(dataHome), repair))
}

export const lastRepair = (dataHome: string): ViewsRepair | undefined =>
  readJson(fileOf(dataHome)) as ViewsRepair | undefined
