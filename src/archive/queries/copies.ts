/** Rows of transcripts: the copies in the vault. */
import type { Database } from "../database.ts"

/** Paths below `vault/`, in the order of archiving. */
export const copiesOf = (db: Database, session: string): string[] =>
  db
    .query<{ copy: string }, [string]>("SELECT copy FROM transcripts WHERE session = ? ORDER BY id")
    .all(session)
    .map(({ copy }) => copy)

export interface CopyOfSession {
  readonly copy: string
  readonly session: string
  readonly project: string | null
  readonly ended: string | null
}

export const allCopies = (db: Database): CopyOfSession[] =>
  db
    .query<CopyOfSession, []>(
      `SELECT t.copy, t.session, p.path AS project, s.ended FROM transcripts t
         LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project`,
    )
    .all()
