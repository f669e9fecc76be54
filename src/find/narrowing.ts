/** What a search is restricted to. The index decides what its filter words cover, and a check of each row the rest. */

import { usageError } from "../base/errors.ts"
import { resolve } from "../base/path.ts"
import type { Database } from "../views/database.ts"
import type { LabelledNames } from "../views/labels.ts"
import { idsOfProject, projectId } from "../views/queries/projects.ts"
import { type Condition, messagesWhere, pathNamed, threadsOf } from "../views/queries/scope.ts"
import { programOfSession, spanOfSessions } from "../views/queries/sessions.ts"
import { turnsTouching } from "../views/queries/touched-files.ts"
import { turnsLabelled } from "../views/queries/turns.ts"
import { filterWord } from "../views/word-index.ts"
import { allOf, anyOf, quoted } from "./fts-expression.ts"

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
  /** A file that the turn touched: its path, the end of its path, or a pattern (see `pathNamed`). */
  readonly file?: string | undefined
  readonly error?: boolean | undefined
  /** Name of the agent whose session it is (agents/agent-table.ts). */
  readonly program?: string | undefined
  /** Turns that the user has labelled, and those of labelled sessions. */
  readonly labelled?: LabelledNames | undefined
}

export interface Filter {
  /** In FTS5's language; undefined: every message. */
  readonly expression: string | undefined
  /** Whether it checks the time of a row. */
  readonly isTimed: boolean
  /**
   * What the filter words cannot express. Applied while candidates are chosen, because only the newest of too many are
   * kept.
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
    const id = projectId(db, wanted.project)
    if (id === undefined) return undefined
    parts.push(anyOf(idsOfProject(db, id).map((one) => quoted(filterWord.project(one)))))
  }
  const sessions = wanted.session === undefined ? [] : [wanted.session, ...threadsOf(db, [wanted.session])]
  if (sessions.length > 0) parts.push(anyOf(sessions.map((one) => quoted(filterWord.session(one)))))
  if (wanted.role !== undefined) parts.push(quoted(filterWord.role(wanted.role)))
  if (wanted.tool !== undefined) parts.push(quoted(filterWord.tool(wanted.tool)))
  if (wanted.error === true) parts.push(quoted(filterWord.error))
  parts.push(months(db, wanted))
  const turns = turnsNarrowed(db, wanted)
  if (turns?.size === 0) return undefined
  const { session, since, until, program } = wanted
  const isTimed = since !== undefined || until !== undefined
  return {
    expression: allOf(parts),
    isTimed,
    condition: messagesWhere({ turns, session, since, until, program }),
    isOpen: turns === undefined && session === undefined && program === undefined && !isTimed,
    accepts: (row) =>
      (turns === undefined || turns.has(row.turn)) &&
      (session === undefined ||
        sessions.some((one) => row.session === one || row.session.startsWith(`${one}/`))) &&
      (program === undefined || programOfSession(db, row.session) === program) &&
      (since === undefined || (row.time !== null && row.time >= since)) &&
      (until === undefined || (row.time !== null && row.time < until)),
  }
}

/** The turns that touched the file and are labelled; undefined: neither is asked for. */
export function turnsNarrowed(
  db: Database,
  { file, labelled }: Pick<Narrowing, "file" | "labelled">,
): ReadonlySet<number> | undefined {
  const touching = file === undefined ? undefined : turnsTouching(db, pathNamed(file))
  if (labelled === undefined) return touching
  const all = turnsLabelled(db, labelled)
  return touching === undefined ? all : touching.intersection(all)
}

/**
 * The span of two moments that were given, ISO 8601.
 *
 * @param dashes what precedes the names of arguments where they were typed
 * @throws CtxError exit 64 when it is empty
 */
export function spanGiven(
  since: string | undefined,
  until: string | undefined,
  dashes: "--" | "",
): Pick<Narrowing, "since" | "until"> {
  if (since !== undefined && until !== undefined && since >= until)
    throw usageError(`${dashes}since is not before ${dashes}until`, `${since} and ${until}`)
  return { since, until }
}

/** Resolves a path typed in `folder` where it begins with `~/` or `../`, which the archive could not interpret. */
export function typedPath(text: string, folder: string, home: string): string {
  const base = text.startsWith("~/") ? home : text.startsWith("../") ? folder : undefined
  if (base === undefined) return text
  return resolve(base, text.replace(/^~\//, "")) + (text.endsWith("/") ? "/" : "")
}

function months(db: Database, { since, until }: Narrowing): string | undefined {
  if (since === undefined && until === undefined) return undefined
  const span = spanOfSessions(db)
  const first = later(since, span?.first ?? undefined)
  const last = earlier(until, span?.last ?? undefined)
  // A transcript may contain any text as a time; then only the rows are checked.
  if (!isMonth(first) || !isMonth(last)) return undefined
  const names: string[] = []
  for (let month = monthNumber(first); month <= monthNumber(last); month++) {
    names.push(
      quoted(filterWord.month(`${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`)),
    )
    if (names.length > MOST_MONTHS) return undefined
  }
  // The span holds no month, so nothing may match.
  return names.length === 0 ? quoted(filterWord.month("0000-00")) : anyOf(names)
}

const isMonth = (time: string | undefined): time is string => /^\d{4}-\d\d/.test(time ?? "")
const monthNumber = (time: string): number => Number(time.slice(0, 4)) * 12 + Number(time.slice(5, 7)) - 1
const later = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a
const earlier = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a
