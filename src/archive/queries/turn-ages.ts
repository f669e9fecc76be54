/** What decides which turns are cold (learn/tiers.ts), and which are. */
import { tryTo } from "../../util/files.ts"
import type { Database } from "../database.ts"
import { NOTES_SESSIONS } from "../notes-session.ts"

export interface AgedRow {
  readonly turn: number
  /** Without its prefix. */
  readonly handle: string
  /** ISO 8601. */
  readonly ended: string | null
  /** Of its lines in the transcript. */
  readonly bytes: number
  readonly tools: number
  /** 1 when it touched any. */
  readonly files: number
  readonly cold: number
  /** 1 for what the model wants kept. */
  readonly isNote: number
  /** 1 when Claude Code compacted the session in it. */
  readonly hasSummary: number
}

const COLUMNS = `t.id AS turn, t.handle, t.ended, t.last - t.first AS bytes, t.tools, t.cold,
  t.session GLOB '${NOTES_SESSIONS}' AS isNote, EXISTS (SELECT 1 FROM files f WHERE f.turn = t.id) AS files,
  EXISTS (SELECT 1 FROM boundaries b WHERE b.session = t.session AND b.transcript = t.transcript
    AND b.offset >= t.first AND b.offset < t.last) AS hasSummary`

export const agedTurns = (db: Database): AgedRow[] =>
  db.query<AgedRow, []>(`SELECT ${COLUMNS} FROM turns t`).all()

/** @returns undefined if there is no such turn */
export const agedTurn = (db: Database, turn: number): AgedRow | undefined =>
  db.query<AgedRow, [number]>(`SELECT ${COLUMNS} FROM turns t WHERE t.id = ?`).get(turn) ?? undefined

/** Bytes of all turns' lines, without looking at each: at least as many. */
export const archivedSize = (db: Database): number =>
  db.query<{ bytes: number }, []>("SELECT coalesce(sum(archived), 0) AS bytes FROM transcripts").get()!.bytes

/** Views of an earlier version, which are read as they are while nobody can bring them up to date, have none. */
export const hasCold = (db: Database): boolean =>
  tryTo(() => db.query("SELECT 1 FROM turns WHERE cold = 1 LIMIT 1").get() !== null) ?? false

/** Copies that have cold turns, and the files beside them. */
export const copiesWithCold = (db: Database): Set<string> =>
  new Set(
    db
      .query<{ copy: string }, []>(
        `SELECT DISTINCT c.copy FROM turns t JOIN transcripts c ON c.id = t.transcript WHERE t.cold = 1
         UNION SELECT c.copy FROM transcripts c WHERE c.path NOT LIKE '%.jsonl' AND EXISTS (
           SELECT 1 FROM turns t WHERE t.session = c.session AND t.cold = 1)`,
      )
      .all()
      .map(({ copy }) => copy),
  )
