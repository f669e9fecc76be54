/** Rows of slots: what restores showed of names, paths and commands, and what became of it. */
import type { Database } from "../database.ts"

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
