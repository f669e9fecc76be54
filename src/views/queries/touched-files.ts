/** Rows of files: which turns read, wrote, edited or mentioned a path. */
import { isTool } from "../../agents/tool-kinds.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import type { Database } from "../database.ts"
import type { CallPlace } from "./calls.ts"
import { type Condition, isAtHome, isWhose, rowsIn, type Scope, STANDS, type Whose } from "./scope.ts"

export interface TouchedFile {
  readonly path: string
  readonly op: string
  readonly count: number
}

export function filesOf(db: Database, turn: number): TouchedFile[] {
  return db
    .query<TouchedFile, [number]>("SELECT path, op, count FROM files WHERE turn = ? ORDER BY path, op")
    .all(turn)
}

/** @param named a condition on rows `f` of `files` */
export function turnsTouching(db: Database, { sql, values }: Condition): Set<number> {
  const rows = db
    .query<{ turn: number }, string[]>(`SELECT DISTINCT f.turn FROM files f WHERE ${sql}`)
    .all(...values)
  return new Set(rows.map(({ turn }) => turn))
}

/** A path, and the session's folder, which relative paths in commands start from. */
export interface PathIn {
  readonly path: string
  readonly cwd: string | null
}

export interface FileOfTurn extends PathIn {
  readonly op: string
  /** With `ctx:`. */
  readonly handle: string
  readonly time: string | null
  readonly takenBack: number
}

export const filesWithTurn = (db: Database, turn: number): FileOfTurn[] =>
  db
    .query<FileOfTurn, [string, number]>(
      `SELECT f.path, f.op, ? || t.handle AS handle, t.started AS time, t.taken_back AS takenBack, s.cwd
       FROM files f JOIN turns t ON t.id = f.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE f.turn = ? ORDER BY f.path, f.op`,
    )
    .all(HANDLE_PREFIX, turn)

export interface TouchRow extends PathIn {
  /** With `ctx:`. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly time: string | null
  /** Separated by spaces. */
  readonly ops: string
  /** What was asked for. */
  readonly prompt: string
  /** What the model said it had done. */
  readonly answer: string
  readonly takenBack: number
}

/**
 * One row per turn and path, newest first.
 *
 * @param named a condition on rows `f` of `files`
 */
export function touchRows(db: Database, { sql, values }: Condition, whose: Whose): TouchRow[] {
  const there = isWhose(whose)
  return db
    .query<TouchRow, string[]>(
      `SELECT ? || t.handle AS handle, t.session, t.seq, t.started AS time, f.path,
         group_concat(f.op, ' ' ORDER BY f.op) AS ops, t.prompt, t.answer, t.taken_back AS takenBack, s.cwd
       FROM files f JOIN turns t ON t.id = f.turn
       LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project
       WHERE ${sql} AND ${there.sql}
       GROUP BY t.id, f.path ORDER BY t.started DESC, t.id DESC`,
    )
    .all(HANDLE_PREFIX, ...values, ...there.values)
}

/** Of the files that a turn wrote or edited, how many a turn that began after its end has written or edited. */
export interface ChangedFiles {
  readonly files: number
  /** At least one: where nothing is known, nothing is said. */
  readonly changed: number
}

/** In a few words. */
export const movedText = ({ files, changed }: ChangedFiles): string =>
  files === 1 ? "changed since" : `${changed} of its ${files} files changed since`

export interface FileSince {
  readonly turn: number
  /** Of the turn, without its prefix. */
  readonly handle: string
  readonly path: string
  readonly isChanged: boolean
}

/** How many of the latest changes of a file are looked at: some files are changed in every second turn of an archive. */
const LATEST_CHANGES = 32
/** Files that are looked at: beyond these, of a turn that changed a thousand, nothing is known. */
const MOST_CHANGED = 200

/**
 * The files that these turns wrote or edited, and whether a turn that began after their end is known to have, too.
 *
 * @param turns handles without their prefix
 * @param except sessions whose changes do not count
 */
export const filesOfTurns = (
  db: Database,
  turns: readonly string[],
  except: readonly string[] = [],
): FileSince[] => filesSince(db, "o.handle", turns, except)

export function filesChangedSince(db: Database, turns: readonly number[]): Map<number, ChangedFiles> {
  const known = new Map<number, ChangedFiles>()
  for (const [turn, files] of Map.groupBy(filesSince(db, "o.id", turns, []), (file) => file.turn)) {
    const changed = files.filter(({ isChanged }) => isChanged).length
    if (changed > 0) known.set(turn, { files: files.length, changed })
  }
  return known
}

function filesSince(
  db: Database,
  column: "o.handle" | "o.id",
  turns: readonly (string | number)[],
  except: readonly string[],
): FileSince[] {
  if (turns.length === 0) return []
  const rows = db
    .query<Omit<FileSince, "isChanged"> & { readonly ended: string | null }, [string]>(
      `SELECT DISTINCT o.id AS turn, o.handle, f.path, coalesce(o.ended, o.started) AS ended
       FROM json_each(?) g JOIN turns o ON ${column} = g.value
         JOIN files f ON f.turn = o.id AND f.op IN ('edit', 'write')`,
    )
    .all(JSON.stringify(turns))
  // In the order of the index of paths, which ends with the turn.
  const latest = db.query<{ id: number; started: string | null }, [string, string]>(
    `SELECT t.id, t.started FROM (SELECT DISTINCT l.turn FROM files l
       WHERE l.path = ?1 AND l.op IN ('edit', 'write') AND l.session NOT IN (SELECT value FROM json_each(?2))
       ORDER BY l.turn DESC LIMIT ${LATEST_CHANGES}) c
     JOIN turns t ON t.id = c.turn WHERE t.taken_back = 0 ORDER BY t.started DESC LIMIT 1`,
  )
  const others = JSON.stringify(except)
  const last = new Map<string, ReturnType<typeof latest.get>>()
  return rows.map(({ turn, handle, path, ended }) => {
    if (!last.has(path) && last.size < MOST_CHANGED) last.set(path, latest.get(path, others))
    const change = last.get(path)
    const isChanged = change != null && change.id !== turn && (change.started ?? "") >= (ended ?? "\uffff")
    return { turn, handle, path, isChanged }
  })
}

/** The latest turns that changed files, newest first in each part of the scope. */
export const turnsWithChanges = (db: Database, scope: Scope, most: number): number[] =>
  rowsIn<{ turn: number }>(
    db,
    scope,
    `SELECT DISTINCT f.turn FROM files f JOIN turns t ON t.id = f.turn
     WHERE f.session = ?1 AND f.turn <= ?2 AND f.op IN ('edit', 'write') AND ${STANDS}
     ORDER BY f.turn DESC LIMIT ${most}`,
  ).map(({ turn }) => turn)

/** The last turn of other sessions that changed a file. */
interface LastChange {
  readonly path: string
  readonly turn: number
  /** Without its prefix. */
  readonly handle: string
  readonly prompt: string
  readonly started: string | null
}

/**
 * Of each file, the last turn of the projects' other sessions that changed it and that the user did not take back.
 *
 * @param except sessions that do not count
 */
export function lastChangedElsewhere(
  db: Database,
  paths: readonly string[],
  projects: readonly number[],
  except: readonly string[],
): LastChange[] {
  const query = db.query<LastChange, [string, string, string]>(
    `SELECT f.path, f.turn, t.handle, t.prompt, t.started
     FROM files f JOIN turns t ON t.id = f.turn JOIN sessions s ON s.id = f.session
     WHERE f.path = ?1 AND f.op IN ('edit', 'write') AND s.project IN (SELECT value FROM json_each(?2))
       AND f.session NOT IN (SELECT value FROM json_each(?3)) AND t.taken_back = 0 AND t.prompt <> ''
       AND s.parent IS NULL AND ${isAtHome("t.origin")}
     ORDER BY t.started DESC, t.id DESC LIMIT 1`,
  )
  const [ids, others] = [JSON.stringify(projects), JSON.stringify(except)]
  return paths.flatMap((path) => query.get(path, ids, others) ?? [])
}

/** Whether the session changed another file than `path` whose path ends with `end`. */
export const hasNamesake = (db: Database, session: string, path: string, end: string): boolean =>
  db
    .query<{ n: number }, [string, string, string]>(
      `SELECT 1 AS n FROM files WHERE session = ?1 AND op IN ('edit', 'write') AND path <> ?2
       AND substr(path, -length(?3)) = ?3 LIMIT 1`,
    )
    .get(session, path, end) !== null

/** Files that the session changed, the latest first; the same one may come several times. */
export const pathsChanged = (db: Database, session: string, most: number): string[] =>
  db
    .query<{ path: string }, [string]>(
      `SELECT path FROM files WHERE session = ? AND op IN ('edit', 'write') ORDER BY turn DESC LIMIT ${most}`,
    )
    .all(session)
    .map(({ path }) => path)

/** A file that sessions wrote or edited. */
export interface ChangedPath {
  readonly path: string
  /** How many turns did, and when the last of them began. */
  readonly turns: number
  readonly last: string | null
  /** Whether one of them was this user's own, on whichever machine. */
  readonly isOwn: number
}

/** Files that these sessions and their subagents wrote or edited, rewound turns included. */
export const pathsChangedIn = (db: Database, sessions: readonly string[]): ChangedPath[] =>
  db
    .query<ChangedPath, [string]>(
      `SELECT f.path, count(DISTINCT f.turn) AS turns, max(t.started) AS last, max(${isAtHome("t.origin")}) AS isOwn
       FROM files f JOIN turns t ON t.id = f.turn
       WHERE f.op IN ('edit', 'write') AND f.session IN (${WITH_SUBAGENTS}) GROUP BY f.path`,
    )
    .all(JSON.stringify(sessions))

/**
 * Of these sessions, those with turns of this user's own, on whichever machine; each with the project of its folder where
 * that is joined with another.
 */
export const ownAmong = (db: Database, sessions: readonly string[]): Map<string, string | null> =>
  new Map(
    db
      .query<{ id: string; former: string | null }, [string]>(
        `SELECT s.id, p.path AS former
         FROM json_each(?1) w JOIN sessions s ON s.id = w.value LEFT JOIN projects p ON p.id = s.own
         WHERE EXISTS (SELECT 1 FROM turns t WHERE t.session = s.id AND ${isAtHome("t.origin")})`,
      )
      .all(JSON.stringify(sessions))
      .map(({ id, former }) => [id, former]),
  )

const WITH_SUBAGENTS = `WITH RECURSIVE some (id) AS (
  SELECT value FROM json_each(?1) UNION SELECT s.id FROM some JOIN sessions s ON s.parent = some.id)
  SELECT id FROM some`

/** The session that started each of these subagents. */
export const startersOf = (db: Database, sessions: readonly string[]): Map<string, string> =>
  new Map(
    db
      .query<{ id: string; parent: string }, [string]>(
        "SELECT s.id, s.parent FROM json_each(?1) w JOIN sessions s ON s.id = w.value WHERE s.parent IS NOT NULL",
      )
      .all(JSON.stringify(sessions))
      .map(({ id, parent }) => [id, parent]),
  )

/* Calls that edited or wrote files, and the statements that may say why. */

export interface FileEdit extends CallPlace {
  readonly tool: string
  readonly path: string
  /** With `ctx:`. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly time: string | null
  readonly prompt: string
  readonly answer: string
  readonly takenBack: number
}

/** Calls that edited or wrote files, as `callsOnFiles`. */
export const editsOf = (db: Database, named: Condition, whose: Whose): FileEdit[] =>
  callsOnFiles(db, named, whose, ["edit", "write"])

/**
 * Those that did not fail, newest first. Where a path does not fit the line that the views have of a call, also those of
 * other files in the same turn.
 *
 * @param named a condition on rows `f` of `files`
 */
export function callsOnFiles(
  db: Database,
  { sql, values }: Condition,
  whose: Whose,
  ops: readonly Op[],
): FileEdit[] {
  const there = isWhose(whose)
  return db
    .query<FileEdit, string[]>(
      `SELECT ${FILE_EDIT}
       FROM (SELECT DISTINCT f.turn, f.path FROM files f WHERE ${isOp(ops)} AND ${sql}) w
         JOIN tool_calls c ON c.turn = w.turn AND (c.target = w.path OR ${IS_ODD})
         JOIN turns t ON t.id = c.turn
         LEFT JOIN messages m ON m.id = c.use
         LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project
       WHERE ${hasDone(ops)} AND ${there.sql}
       ORDER BY time DESC, c.use DESC`,
    )
    .all(HANDLE_PREFIX, ...values, ...there.values)
}

interface CallOnFile extends FileEdit {
  /** Whether it is of somebody else's archive. */
  readonly isOthers: number
}

/** The same for many files at once, whosever they are: it looks at each call once, not at those of a turn for each file. */
export const callsOnManyFiles = (
  db: Database,
  files: readonly { readonly path: string }[],
  ops: readonly Op[],
): CallOnFile[] =>
  db
    .query<CallOnFile, [string, string]>(
      `WITH wanted AS MATERIALIZED (SELECT value AS path FROM json_each(?2)),
         named AS (
           SELECT c.session, c.id, c.target AS path FROM tool_calls c
           WHERE ${hasDone(ops)} AND c.target IN wanted
             AND EXISTS (SELECT 1 FROM files f WHERE f.turn = c.turn AND f.path = c.target AND ${isOp(ops)})
           UNION ALL SELECT c.session, c.id, w.path
           FROM (SELECT DISTINCT f.turn, f.path FROM wanted w JOIN files f ON f.path = w.path WHERE ${isOp(ops)} AND ${IS_ODD}) w
             CROSS JOIN tool_calls c ON c.turn = w.turn AND c.target <> w.path
           WHERE ${hasDone(ops)})
       SELECT ${FILE_EDIT}, t.origin = 'other' AS isOthers
       FROM named w JOIN tool_calls c ON c.session = w.session AND c.id = w.id
         JOIN turns t ON t.id = c.turn LEFT JOIN messages m ON m.id = c.use
       ORDER BY time DESC, c.use DESC`,
    )
    .all(HANDLE_PREFIX, JSON.stringify(files.map(({ path }) => path)))

type Op = "read" | "edit" | "write"

const isOp = (ops: readonly Op[]): string => `f.op IN (${ops.map((op) => `'${op}'`).join()})`

const hasDone = (ops: readonly Op[]): string =>
  `${isTool("c.name", ...ops)} AND c.is_error IS NOT 1 AND c.use IS NOT NULL`

/** Whether a path `w` may not fit the line that the views have of a call. */
const IS_ODD = "(length(w.path) > 250 OR w.path GLOB '*[ \t][ \t]*')"

/** Of a call `c` on a path `w`, with its turn and its message. */
const FILE_EDIT = `c.id, c.use, c.result, c.name AS tool, w.path, ?1 || t.handle AS handle, t.session, t.seq,
  coalesce(m.time, t.started) AS time, t.prompt, t.answer, t.taken_back AS takenBack`

export interface StatementBefore {
  /** constraint, decision or refuted. */
  readonly kind: string
  readonly text: string
  /** With `ctx:`. */
  readonly handle: string
  readonly seq: number
}

/** Statements of a session's turns up to this one that the user did not take back, the latest first. */
export const statementsUpTo = (db: Database, session: string, seq: number, most: number): StatementBefore[] =>
  db
    .query<StatementBefore, [string, string, number, number]>(
      `SELECT n.kind, n.text, ? || t.handle AS handle, t.seq FROM notes n JOIN turns t ON t.id = n.turn
       WHERE n.session = ? AND t.seq <= ? AND t.taken_back = 0 ORDER BY t.seq DESC, n.place DESC LIMIT ?`,
    )
    .all(HANDLE_PREFIX, session, seq, most)

/*
 * What has changed in the views since somebody last looked: turns grow in place, are taken back, are forgotten, and
 * views are made anew under other row ids. So turns go by their handles, and what was seen of each is compared with what
 * is there: nothing is missed, whatever happened in between, and no write has to keep a list.
 *
 * It is for copies of the turns elsewhere, on another machine or in another database (sync/).
 *
 * The price is one walk over turns and messages at each look, unless it is known which sessions may have changed
 * (`ViewsMark`). Words that `forget` blanked inside a tool's input show only if they were in what the views keep of it; the
 * tombstones tell of all (vault/tombstones.ts).
 */

/** What was seen: a hash of each turn's state, by its handle with `ctx:`. Empty: nothing yet. */
export type Watermark = ReadonlyMap<string, string>

interface Changes {
  /** Handles of turns that are new or other than they were, in the order of the views. */
  readonly changed: readonly string[]
  /** Handles of turns that are no more. */
  readonly gone: readonly string[]
  readonly watermark: Watermark
}

const STATE = `json_array(t.session, t.seq, t.via, t.prompt, t.answer, t.started, t.ended, t.tools, t.errors,
  t.interrupted, t.taken_back, t.origin,
  -- A sum of 64-bit hashes could overflow.
  (SELECT json_array(count(*), sum(m.key >> 32), sum(m.key & 0xffffffff)) FROM messages m WHERE m.turn = t.id),
  (SELECT json_group_array(json_array(c.id, c.target, c.is_error, c.exit_code, c.error)) FROM tool_calls c
   WHERE c.turn = t.id))`

/** @param families looks at these alone, of which `watermark` must have all */
export function changesSince(db: Database, watermark: Watermark, families?: ReadonlySet<string>): Changes {
  const [of, values] = amongFamilies(families)
  const rows = db.query<{ handle: string; state: string }, string[]>(
    `SELECT t.handle, ${STATE} AS state FROM turns t WHERE ${of} ORDER BY t.id`,
  )
  const changed: string[] = []
  const seen = new Map<string, string>()
  for (const row of rows.iterate(...values)) {
    const handle = HANDLE_PREFIX + row.handle
    const state = Bun.hash.xxHash64(row.state).toString(36)
    seen.set(handle, state)
    if (watermark.get(handle) !== state) changed.push(handle)
  }
  const gone = [...watermark.keys()].filter((handle) => !seen.has(handle))
  return { changed, gone, watermark: seen }
}

/** A condition on turns `t`, and its value. */
const amongFamilies = (families: ReadonlySet<string> | undefined): [sql: string, values: string[]] =>
  families === undefined
    ? ["true", []]
    : [
        `t.id IN (SELECT o.id FROM json_each(?) f CROSS JOIN turns o
           ON o.session = f.value OR o.session > f.value || '/' AND o.session < f.value || '0')`,
        [JSON.stringify([...families])],
      ]

/** What the views were, as far as it tells which turns are as they were. */
export interface ViewsMark {
  /** Another one when turns were taken out, views made anew, or states are told otherwise. */
  readonly made: string
  /** The largest number of a turn. */
  readonly newest: number
  /** How far each copy was followed, by its number; of one that is marked, less than 0. */
  readonly followed: Readonly<Record<string, number>>
}

/** A session with all its subagents, by the session's name. */
const familyOf = (session: string): string => session.split("/", 1)[0]!

/**
 * A turn changes only while a line of its session, or of one of that session's subagents, is followed; what takes turns out
 * leaves another mark.
 *
 * @param also sessions that count as changed
 * @returns `families`: those with turns that may be new or other than they were; undefined: any may have some
 */
export function familiesSince(
  db: Database,
  isMarked: (copy: string) => boolean,
  before: ViewsMark | undefined,
  also: readonly string[],
): { readonly mark: ViewsMark; readonly families: ReadonlySet<string> | undefined } {
  const { mark: removals, newest } = db
    .query<{ mark: string; newest: number }, []>(
      "SELECT CAST(mark AS TEXT) AS mark, (SELECT coalesce(max(id), 0) FROM turns) AS newest FROM removals",
    )
    .get()!
  const copies = db
    .query<{ id: number; copy: string; session: string; indexed: number }, []>(
      "SELECT id, copy, session, indexed FROM transcripts",
    )
    .all()
    .map(({ indexed, ...one }) => ({ ...one, followed: isMarked(one.copy) ? -1 - indexed : indexed }))
  const followed = Object.fromEntries(copies.map((one) => [one.id, one.followed]))
  const mark = { made: `${removals} ${Bun.hash.xxHash64(STATE).toString(36)}`, newest, followed }
  if (before?.made !== mark.made) return { mark, families: undefined }
  const added = db
    .query<{ session: string }, [number]>("SELECT DISTINCT session FROM turns WHERE id > ?")
    .all(before.newest)
  const sessions = [...copies.filter((one) => one.followed !== before.followed[one.id]), ...added]
  return { mark, families: new Set([...sessions.map(({ session }) => session), ...also].map(familyOf)) }
}

/**
 * Handles, with `ctx:`, of the turns of which no line is in any other copy than these.
 *
 * @param families looks at these alone
 */
export function turnsOnlyIn(
  db: Database,
  copies: readonly string[],
  families?: ReadonlySet<string>,
): Set<string> {
  if (copies.length === 0) return new Set()
  const [of, values] = amongFamilies(families)
  const rows = db
    .query<{ handle: string }, string[]>(
      `WITH these AS MATERIALIZED (SELECT id FROM transcripts WHERE copy IN (SELECT value FROM json_each(?)))
       SELECT handle FROM turns t WHERE t.transcript IN these AND ${of} AND NOT EXISTS (
         SELECT 1 FROM messages m WHERE m.turn = t.id AND m.transcript NOT IN these)`,
    )
    .all(JSON.stringify(copies), ...values)
  return new Set(rows.map(({ handle }) => HANDLE_PREFIX + handle))
}
