/** Rows of boundaries: when Claude Code compacted a session, and where in its transcript. */
import type { Database } from "../database.ts"
import { agentOf } from "./scope.ts"
import { IS_TURN } from "./turns.ts"

interface CompactedSession {
  readonly session: string
  /** Time of its last compaction. */
  readonly latest: string
}

/** Sessions with compactions, last compacted first. */
export const compactedSessions = (
  db: Database,
  session: string | null,
  project: string | null,
  program: string | null,
): CompactedSession[] =>
  db
    .query<CompactedSession, (string | null)[]>(
      `SELECT b.session, max(coalesce(b.time, '')) AS latest FROM boundaries b
       LEFT JOIN sessions s ON s.id = b.session LEFT JOIN projects p ON p.id = s.project
       WHERE (?1 IS NULL OR b.session = ?1) AND (?2 IS NULL OR p.path = ?2)
         AND (?3 IS NULL OR ${agentOf("s")} = ?3)
       GROUP BY b.session ORDER BY latest DESC, b.session`,
    )
    .all(session, project, program)

/** Offsets of the compactions in a copy. */
export const boundariesIn = (db: Database, copy: string): number[] =>
  db
    .query<{ offset: number }, [string]>(
      "SELECT b.offset FROM boundaries b JOIN transcripts t ON t.id = b.transcript WHERE t.copy = ?",
    )
    .all(copy)
    .map(({ offset }) => offset)

export interface FoundCompaction {
  /** Id of its transcript. */
  readonly transcript: number
  /** Byte offset in the transcript. */
  readonly offset: number
  /** ISO 8601, as written by Claude Code. */
  readonly time: string | null
}

/** The last compaction from `offset` on. */
export function lastCompaction(db: Database, session: string, offset = 0): FoundCompaction | undefined {
  return (
    db
      .query<FoundCompaction, [string, number]>(
        'SELECT transcript, "offset", time FROM boundaries WHERE session = ? AND "offset" >= ? ORDER BY "offset" DESC LIMIT 1',
      )
      .get(session, offset) ?? undefined
  )
}

interface CompactionOfTurn {
  /** manual or auto, as Claude Code says. */
  readonly trigger: string
  /** Tokens in the context before it. */
  readonly preTokens: number | null
}

/** The first compaction that a turn went into: the next one after its beginning. */
export const compactionOfTurn = (db: Database, turn: number): CompactionOfTurn | undefined =>
  db
    .query<CompactionOfTurn, [number]>(
      `SELECT b.trigger, b.pre_tokens AS preTokens FROM turns t
       JOIN boundaries b ON b.session = t.session AND b.transcript = t.transcript AND b.offset >= t.first
       WHERE t.id = ? ORDER BY b.offset LIMIT 1`,
    )
    .get(turn) ?? undefined

/** Offset of the last compaction before `offset`. */
export const compactionBefore = (db: Database, session: string, offset: number): number | undefined =>
  db
    .query<{ offset: number | null }, [string, number]>(
      'SELECT max("offset") AS "offset" FROM boundaries WHERE session = ? AND "offset" < ?',
    )
    .get(session, offset)?.offset ?? undefined

/** Offset of the last compaction in a transcript. */
export const lastBoundary = (db: Database, transcript: number): number | undefined =>
  db
    .query<{ offset: number | null }, [number]>(
      "SELECT max(offset) AS offset FROM boundaries WHERE transcript = ?",
    )
    .get(transcript)?.offset ?? undefined

/** Tokens before the session's last automatic compactions, oldest first. */
export const automaticPoints = (db: Database, session: string, most: number): number[] =>
  db
    .query<{ tokens: number }, [string, number]>(
      `SELECT pre_tokens AS tokens FROM boundaries
       WHERE session = ?1 AND trigger = 'auto' AND pre_tokens > 0
       ORDER BY transcript DESC, offset DESC LIMIT ?2`,
    )
    .all(session, most)
    .map(({ tokens }) => tokens)
    .reverse()

/** How often the human prompted in the session, and how often Claude Code compacted it. */
export const promptsAndCompactions = (
  db: Database,
  session: string,
): { readonly turns: number; readonly compactions: number } =>
  db
    .query<{ turns: number; compactions: number }, [string]>(
      `SELECT (SELECT count(*) FROM turns t WHERE session = ?1 AND ${IS_TURN}) AS turns,
         (SELECT count(*) FROM boundaries WHERE session = ?1) AS compactions`,
    )
    .get(session)!
