/** Rows of restores and compactions: what a session was given, and when the host compacted it. */
import type { Database } from "../database.ts"

export interface Given {
  /** compact, clear. */
  readonly source: string
  /** For which event, see hook/answers.ts. */
  readonly mark: string
  /** ms since the epoch. */
  readonly time: number
  readonly text: string
}

/** What a session was last given after a compaction or /clear. */
export const lastGiven = (db: Database, session: string): Given | null =>
  db
    .query<Given, [string]>(
      `SELECT source, mark, time, text FROM restores
       WHERE session = ? AND source IN ('compact', 'clear') AND text <> '' ORDER BY id DESC LIMIT 1`,
    )
    .get(session)

/** When it was given again, in ms since the epoch. */
export const givenAgain = (
  db: Database,
  session: string,
  { source, mark }: Given,
): { readonly time: number } | null =>
  db
    .query<{ time: number }, [string, string]>(
      "SELECT time FROM restores WHERE session = ? AND source = 'again' AND mark = ?",
    )
    .get(session, `of ${source} ${mark}`)

/** What hooks gave after compactions, oldest first. */
export const givenAfterCompactions = (db: Database, session: string): Pick<Given, "mark" | "text">[] =>
  db
    .query<{ mark: string; text: string }, [string]>(
      "SELECT mark, text FROM restores WHERE session = ? AND source = 'compact' AND text <> '' ORDER BY id",
    )
    .all(session)

export interface CompactedSession {
  readonly session: string
  /** Time of its last compaction. */
  readonly latest: string
}

/** Sessions with compactions, last compacted first. */
export const compactedSessions = (
  db: Database,
  session: string | null,
  project: string | null,
): CompactedSession[] =>
  db
    .query<CompactedSession, [string | null, string | null]>(
      `SELECT b.session, max(coalesce(b.time, '')) AS latest FROM boundaries b
       LEFT JOIN sessions s ON s.id = b.session LEFT JOIN projects p ON p.id = s.project
       WHERE (?1 IS NULL OR b.session = ?1) AND (?2 IS NULL OR p.path = ?2)
       GROUP BY b.session ORDER BY latest DESC, b.session`,
    )
    .all(session, project)

/** Offsets of the compactions in a copy. */
export const boundariesIn = (db: Database, copy: string): number[] =>
  db
    .query<{ offset: number }, [string]>(
      "SELECT b.offset FROM boundaries b JOIN transcripts t ON t.id = b.transcript WHERE t.copy = ?",
    )
    .all(copy)
    .map(({ offset }) => offset)
