/** Rows of restores: what a session was given, and for which event. */
import type { Database } from "../database.ts"

interface Given {
  /** compact, clear. */
  readonly source: string
  /** For which event, see hook/answer.ts. */
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

/** Stores the text given with the answer claimed last, and what is in it. */
export function keepGiven(
  db: Database,
  session: string,
  text: string,
  slots: readonly SlotItem[] = [],
): void {
  const last = "id = (SELECT max(id) FROM restores WHERE session = ?)"
  db.query(`UPDATE restores SET text = ? WHERE ${last}`).run(text, session)
  if (slots.length === 0) return
  db.query(
    `INSERT OR REPLACE INTO slots (session, source, mark, items)
     SELECT session, source, mark, ? FROM restores WHERE ${last}`,
  ).run(JSON.stringify(slots), session)
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

/* Rows of slots: what restores showed of names, paths and commands, and what became of it. */

/** As it is stored. The handle, without prefix, is of the last turn that held it; "" where that is unknown. */
export type SlotItem = readonly [kind: string, text: string, handle: string, cell: string, shown: 0 | 1]

interface KnownByMessage {
  readonly kind: string
  readonly text: string
  readonly latest: number | null
  readonly cell: string
  readonly shown: boolean
}

/** Names messages by the handles of their turns, since ids change when views are made anew. */
export function slotItems(db: Database, slots: readonly KnownByMessage[]): SlotItem[] {
  if (slots.length === 0) return []
  const rows = db
    .query<{ id: number; handle: string }, [string]>(
      `SELECT m.id, t.handle FROM messages m JOIN turns t ON t.id = m.turn
       WHERE m.id IN (SELECT value FROM json_each(?))`,
    )
    .all(JSON.stringify([...new Set(slots.map(({ latest }) => latest))]))
  const handles = new Map(rows.map(({ id, handle }) => [id, handle]))
  return slots.map(({ kind, text, latest, cell, shown }) => [
    kind,
    text,
    handles.get(latest ?? -1) ?? "",
    cell,
    shown ? 1 : 0,
  ])
}

/** A restore and what it showed. */
export interface SlotRow {
  readonly session: string
  readonly source: string
  readonly mark: string
  /** As given. */
  readonly text: string
  readonly items: readonly SlotItem[]
}

/** Of one session, oldest first. */
export const slotsGiven = (db: Database, session: string): SlotRow[] =>
  db
    .query<Omit<SlotRow, "items"> & { items: string }, [string]>(
      `SELECT r.session, r.source, r.mark, r.text, s.items FROM restores r
       JOIN slots s ON s.session = r.session AND s.source = r.source AND s.mark = r.mark
       WHERE r.session = ? ORDER BY r.id`,
    )
    .all(session)
    .map((row) => ({ ...row, items: JSON.parse(row.items) }))

interface SlotTexts {
  /** Of the restore. */
  readonly id: number
  readonly texts: readonly string[]
}

/** All that was ever shown or left out. None where an earlier version made the database. */
export function slotTexts(db: Database): SlotTexts[] {
  if (db.query("SELECT 1 FROM sqlite_schema WHERE name = 'slots'").get() === null) return []
  return db
    .query<{ id: number; items: string }, []>(
      `SELECT r.id, s.items FROM slots s
       JOIN restores r ON r.session = s.session AND r.source = s.source AND r.mark = s.mark`,
    )
    .all()
    .map(({ id, items }) => ({
      id,
      texts: (JSON.parse(items) as readonly SlotItem[]).map(([, text]) => text),
    }))
}

/** @param restore its id */
export function dropSlots(db: Database, restore: number): void {
  db.query(
    "DELETE FROM slots WHERE (session, source, mark) = (SELECT session, source, mark FROM restores WHERE id = ?)",
  ).run(restore)
}
