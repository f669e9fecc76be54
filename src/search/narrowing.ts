/** What a search is restricted to. The index decides what its marks cover, and a check of each row the rest. */
import type { Database } from "../archive/database.ts"
import { mark } from "../archive/word-index.ts"
import { withSlashes } from "../transcript/windows-path.ts"
import { resolve } from "../util/path.ts"
import { allOf, anyOf, quoted } from "./expression.ts"

export interface Narrowing {
  /** Path of a project as the archive names it; undefined: all projects. */
  readonly project?: string | undefined
  /** Includes the session's subagents. */
  readonly session?: string | undefined
  /** ISO 8601 in UTC. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** human, assistant, tool, host. */
  readonly role?: string | undefined
  readonly tool?: string | undefined
  /** A file that the turn touched: its path, the end of its path, or a pattern (see `named`). */
  readonly file?: string | undefined
  /** Failed calls only. */
  readonly error?: boolean | undefined
}

/** An SQL condition on a row `m` of `messages`. */
export interface Condition {
  readonly sql: string
  readonly values: readonly string[]
}

export interface Filter {
  /** In FTS5's language; undefined: every message. */
  readonly expression: string | undefined
  /** Whether it checks the time of a row. */
  readonly isTimed: boolean
  /**
   * What the marks cannot express. Applied while candidates are chosen, because only the newest of too many are kept.
   */
  readonly condition: Condition | undefined
  /** Whether it accepts every row that matches the expression. */
  readonly isOpen: boolean
  accepts(row: { readonly turn: number; readonly session: string; readonly time: string | null }): boolean
}

/** A span of at most this many months is passed to the index. */
const MOST_MONTHS = 120

/** @returns undefined when nothing can match: there is no such project or file */
export function filterOf(db: Database, wanted: Narrowing): Filter | undefined {
  const parts: (string | undefined)[] = []
  if (wanted.project !== undefined) {
    const row = db
      .query<{ id: number }, [string]>("SELECT id FROM projects WHERE path = ?")
      .get(wanted.project)
    if (row === null) return undefined
    parts.push(quoted(mark.project(row.id)))
  }
  if (wanted.session !== undefined) parts.push(quoted(mark.session(wanted.session)))
  if (wanted.role !== undefined) parts.push(quoted(mark.role(wanted.role)))
  if (wanted.tool !== undefined) parts.push(quoted(mark.tool(wanted.tool)))
  if (wanted.error === true) parts.push(quoted(mark.error))
  parts.push(months(db, wanted))
  const turns = wanted.file === undefined ? undefined : turnsTouching(db, wanted.file)
  if (turns?.size === 0) return undefined
  const { session, since, until } = wanted
  const isTimed = since !== undefined || until !== undefined
  return {
    expression: allOf(parts),
    isTimed,
    condition: conditionOf(wanted, turns),
    isOpen: turns === undefined && session === undefined && !isTimed,
    accepts: (row) =>
      (turns === undefined || turns.has(row.turn)) &&
      (session === undefined || row.session === session || row.session.startsWith(`${session}/`)) &&
      (since === undefined || (row.time !== null && row.time >= since)) &&
      (until === undefined || (row.time !== null && row.time < until)),
  }
}

function conditionOf(
  { session, since, until }: Narrowing,
  turns: ReadonlySet<number> | undefined,
): Condition | undefined {
  const parts: Condition[] = []
  if (turns !== undefined) {
    parts.push({ sql: "m.turn IN (SELECT value FROM json_each(?))", values: [`[${[...turns].join()}]`] })
  }
  // A session's mark also covers its subagents.
  if (session?.includes("/")) parts.push({ sql: "m.session = ?", values: [session] })
  if (since !== undefined) parts.push({ sql: "m.time >= ?", values: [since] })
  if (until !== undefined) parts.push({ sql: "m.time < ?", values: [until] })
  if (parts.length === 0) return undefined
  return { sql: parts.map(({ sql }) => sql).join(" AND "), values: parts.flatMap(({ values }) => values) }
}

/** Turns that read, wrote or mentioned a file matching `file`. */
export function turnsTouching(db: Database, file: string): Set<number> {
  const { sql, values } = named(file)
  const rows = db
    .query<{ turn: number }, string[]>(`SELECT DISTINCT f.turn FROM files f WHERE ${sql}`)
    .all(...values)
  return new Set(rows.map(({ turn }) => turn))
}

/** Resolves a path typed in `folder` where it begins with `~/` or `../`, which the archive could not interpret. */
export function typedPath(text: string, folder: string, home: string): string {
  const base = text.startsWith("~/") ? home : text.startsWith("../") ? folder : undefined
  if (base === undefined) return text
  return resolve(base, text.replace(/^~\//, "")) + (text.endsWith("/") ? "/" : "")
}

/**
 * A condition on rows `f` of `files`: the path equals or ends with `typed`. With `*` or `?` it is a pattern, whose `*`
 * also crosses folders; a slash at the end means everything below that folder. Windows paths are stored with forward
 * slashes.
 */
export function named(typed: string): Condition {
  const file = typed.includes("/") ? withSlashes(typed) : withSlashes(typed).replaceAll("\\", "/")
  const end = file.replace(/^(\.?\/)+/, "")
  const pattern = (text: string): string => (text.endsWith("/") ? `${text}*` : text).replaceAll("[", "[[]")
  if (/[*?]|\/$/.test(file)) {
    return { sql: "(f.path GLOB ? OR f.path GLOB ?)", values: [pattern(file), `*/${pattern(end)}`] }
  }
  return {
    sql: "(f.path IN (?, ?) OR substr(f.path, -length(?)) = ?)",
    values: [file, end, `/${end}`, `/${end}`],
  }
}

function months(db: Database, { since, until }: Narrowing): string | undefined {
  if (since === undefined && until === undefined) return undefined
  const span = db
    .query<{ first: string | null; last: string | null }, []>(
      "SELECT min(started) AS first, max(ended) AS last FROM sessions",
    )
    .get()
  const first = later(since, span?.first ?? undefined)
  const last = earlier(until, span?.last ?? undefined)
  // A transcript may contain any text as a time; then only the rows are checked.
  if (!isMonth(first) || !isMonth(last)) return undefined
  const names: string[] = []
  for (let month = monthNumber(first); month <= monthNumber(last); month++) {
    names.push(quoted(mark.month(`${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`)))
    if (names.length > MOST_MONTHS) return undefined
  }
  // The span holds no month, so nothing may match.
  return names.length === 0 ? quoted(mark.month("0000-00")) : anyOf(names)
}

const isMonth = (time: string | undefined): time is string => /^\d{4}-\d\d/.test(time ?? "")
const monthNumber = (time: string): number => Number(time.slice(0, 4)) * 12 + Number(time.slice(5, 7)) - 1
const later = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a
const earlier = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a
