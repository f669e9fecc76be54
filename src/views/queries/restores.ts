/** Rows of restores: what a session was given, and for which event. */
import type { Database } from "../database.ts"

interface Given {
  /** compact, clear. */
  readonly source: string
  /** For which event, see hook/steps.ts. */
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

/** Marks and times of what hooks gave after compactions. */
export const givenMarks = (db: Database, session: string): Pick<Given, "mark" | "time">[] =>
  db
    .query<{ mark: string; time: number }, [string]>(
      "SELECT mark, time FROM restores WHERE session = ? AND source = 'compact'",
    )
    .all(session)

/** What was given after the last compaction, if Claude Code has compacted the session and is older than 2.1. */
export const givenToOldVersion = (db: Database, session: string): string | undefined =>
  db
    .query<{ text: string }, [string]>(
      `SELECT r.text FROM restores r JOIN sessions s ON s.id = r.session
       WHERE r.session = ? AND r.source = 'compact' AND EXISTS (SELECT 1 FROM boundaries b WHERE b.session = r.session)
         AND (s.version GLOB '[01].*' OR s.version GLOB '2.0.*')
       ORDER BY r.id DESC LIMIT 1`,
    )
    .get(session)?.text

/** Whether something was given between these times, in ms since the epoch. */
export const isGivenBetween = (
  db: Database,
  session: string,
  source: string,
  since: number,
  until: number,
): boolean =>
  db
    .query("SELECT 1 FROM restores WHERE session = ? AND source = ? AND time BETWEEN ? AND ?")
    .get(session, source, since, until) !== null

/**
 * Claims the answer to an event; its text follows.
 *
 * @returns false if it is claimed already
 */
export const claimGiven = (
  db: Database,
  session: string,
  { source, mark, time }: Omit<Given, "text">,
): boolean =>
  db
    .query("INSERT OR IGNORE INTO restores (session, source, mark, time, text) VALUES (?, ?, ?, ?, '')")
    .run(session, source, mark, time).changes > 0

/** Stores the text given with the answer claimed last. */
export function keepGiven(db: Database, session: string, text: string): void {
  db.query("UPDATE restores SET text = ? WHERE id = (SELECT max(id) FROM restores WHERE session = ?)").run(
    text,
    session,
  )
}

/**
 * Notes that something is given again.
 *
 * @returns false if it was given again already
 */
export const addGivenAgain = (db: Database, session: string, { source, mark, time, text }: Given): boolean =>
  db
    .query("INSERT OR IGNORE INTO restores (session, source, mark, time, text) VALUES (?, 'again', ?, ?, ?)")
    .run(session, `of ${source} ${mark}`, time, text).changes > 0

/** Whoever is creating the database may not have come to its tables yet, or may have been killed before. */
export const hasRestores = (db: Database): boolean =>
  db.query("SELECT 1 FROM sqlite_schema WHERE name = 'restores'").get() !== null

interface GivenRow {
  readonly id: number
  readonly text: string
}

/** All that was ever given. */
export const givenTexts = (db: Database): GivenRow[] =>
  db.query<GivenRow, []>("SELECT id, text FROM restores WHERE text <> ''").all()

/** In one transaction. */
export function replaceGiven(db: Database, texts: readonly GivenRow[]): void {
  const update = db.query("UPDATE restores SET text = ? WHERE id = ?")
  db.transaction(() => {
    for (const { id, text } of texts) update.run(text, id)
  }).immediate()
}

/** What earlier versions kept of restores besides, in a database that has not been brought up to date yet. */
export function forgetFormerSlots(db: Database): void {
  if (db.query("SELECT 1 FROM sqlite_schema WHERE name = 'slots'").get() !== null) db.run("DELETE FROM slots")
}
