/** The transcripts that the archive knows: where their copies are, and how far the views have followed. */
import type { Segment } from "../vault/copy-file.ts"
import { readList } from "../vault/copy-list.ts"
import {
  isBesideCopy,
  isFetchedCopy,
  isHistoryCopy,
  isOthersCopy,
  isSuperseded,
  supersededPath,
  vaultFile,
} from "../vault/layout.ts"
import type { KnownCopy } from "../vault/lost-copies.ts"
import { tailOf } from "../vault/reader.ts"
import { tailHash, withSource } from "../vault/source-file.ts"
import type { Database } from "./database.ts"
import type { Pending } from "./pending.ts"
import { dropPromptsOnly } from "./session-rows.ts"

export interface TranscriptRow {
  readonly id: number
  readonly path: string
  /** Path of the copy below `vault/`. */
  readonly copy: string
  readonly copyId: string
  readonly session: string
  /** Bytes in the vault. */
  readonly archived: number
  /** Bytes that the views have followed. */
  readonly indexed: number
  /** The turn still growing. */
  readonly turn: number | null
}

const COLUMNS = "id, path, copy, copy_id AS copyId, session, archived, indexed, turn"

export function transcriptByCopy(db: Database, copy: string): TranscriptRow | undefined {
  return (
    db.query<TranscriptRow, [string]>(`SELECT ${COLUMNS} FROM transcripts WHERE copy = ?`).get(copy) ??
    undefined
  )
}

export function transcriptById(db: Database, id: number): TranscriptRow | undefined {
  return (
    db.query<TranscriptRow, [number]>(`SELECT ${COLUMNS} FROM transcripts WHERE id = ?`).get(id) ?? undefined
  )
}

/** Without the files beside them. */
export function transcriptsOf(db: Database, session: string): TranscriptRow[] {
  return db
    .query<TranscriptRow, [string]>(`SELECT ${COLUMNS} FROM transcripts WHERE session = ? ORDER BY id`)
    .all(session)
    .filter(({ copy }) => !isBesideCopy(copy))
}

/**
 * The transcript in which the session continues. What it was before the host rewrote it may have arrived later.
 *
 * @param path of the transcript, if known: a session may have been resumed in another folder
 * @returns one of this machine's own, if there is one
 */
export function currentTranscript(db: Database, session: string, path?: string): TranscriptRow | undefined {
  const all = transcriptsOf(db, session)
  const there = all.filter(({ copy }) => copy.endsWith(".zst") && !isSuperseded(copy))
  const own = there.filter(({ copy }) => !isFetchedCopy(copy))
  const current = own.length > 0 ? own : there
  return current.findLast((one) => one.path === path) ?? current.at(-1) ?? all.at(-1)
}

/**
 * Whether the copy has its session's prompts as the user's own, so that those in the list of all prompts are passed over:
 * neither a file beside a transcript has them, nor a mirror that others may have written.
 */
export const hasPrompts = (copy: string): boolean =>
  !(isHistoryCopy(copy) || isOthersCopy(copy) || isBesideCopy(copy))

/**
 * Records how far a copy has come. A copy with another id than the known one is a new transcript to the views: the host
 * rewrote the file, and the old row follows the old copy to its new place.
 *
 * @returns undefined if there is no such copy
 */
export function noteCopy(db: Database, dataHome: string, found: Pending): TranscriptRow | undefined {
  const tail = tailOf(vaultFile(dataHome, found.copy))
  if (tail === undefined) return undefined
  const archived = tail.last?.to ?? 0
  const { id } = tail.header
  const known = transcriptByCopy(db, found.copy)
  if (known?.copyId === id) {
    if (known.archived !== archived) {
      db.query("UPDATE transcripts SET archived = ? WHERE id = ?").run(archived, known.id)
    }
    return { ...known, archived }
  }
  if (known !== undefined && tail.last !== undefined && isBegunAgain(dataHome, found, known, tail.last)) {
    db.query("UPDATE transcripts SET copy_id = ?, archived = ? WHERE id = ?").run(id, archived, known.id)
    return { ...known, copyId: id, archived }
  }
  noteFormer(db, dataHome, found)
  if (hasPrompts(found.copy)) dropPromptsOnly(db, found.session)
  const row = db
    .query<{ id: number }, [string, string, string, string, number]>(
      `INSERT INTO transcripts (path, copy, copy_id, session, archived) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (copy_id) DO UPDATE SET copy = excluded.copy, archived = excluded.archived RETURNING id`,
    )
    .get(found.path, found.copy, id, found.session, archived)
  return transcriptById(db, row!.id)
}

/**
 * Whether a copy that was lost has been begun again by a hook, from the same transcript: then all that the views know of
 * the former one is where it was.
 */
function isBegunAgain(dataHome: string, found: Pending, known: TranscriptRow, last: Segment): boolean {
  for (let n = 1; ; n++) {
    const former = tailOf(vaultFile(dataHome, formerOf(found, n).copy))
    if (former === undefined) break
    if (former.header.id === known.copyId) return false
  }
  const listed = readList(dataHome).copies.get(known.copyId)
  if (listed === undefined || listed.to < known.indexed || last.to < known.indexed) return false
  const isOf = (end: number, hash: string): boolean =>
    withSource(found.path, (fd, size) => size >= end && tailHash(fd, end).toString(16) === hash) ?? false
  return isOf(listed.to, listed.hash) && isOf(last.to, last.tailHash.toString(16))
}

/**
 * Makes room for a new copy: the rows of those that were set aside before it follow them to their places. These rows
 * come first, because what is said in one turn is ordered by transcript, then by offset.
 */
function noteFormer(db: Database, dataHome: string, found: Pending): void {
  for (let n = 1; noteCopy(db, dataHome, formerOf(found, n)) !== undefined; n++);
  // A copy that is gone altogether gets a path that no file has.
  db.query("UPDATE transcripts SET copy = copy || '#' || copy_id WHERE copy = ?").run(found.copy)
}

/** The `n`th of the copies that the host's rewriting has left of a transcript. */
export const formerOf = (found: Pending, n: number): Pending => ({
  ...found,
  copy: supersededPath(found.copy, n),
})

interface CopyOfSession {
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

/** A copy that is gone altogether gets a path that no file has (`noteFormer`). */
export const goneMark = (id: string): string => `#${id}`

/** Ids of the copies that the views know to be gone. */
export const goneCopies = (db: Database): string[] =>
  db
    .query<{ id: string }, []>("SELECT copy_id AS id FROM transcripts WHERE copy NOT LIKE '%.zst'")
    .all()
    .map(({ id }) => id)

const placeOf = ({ id, copy }: KnownCopy): string =>
  copy.endsWith(goneMark(id)) ? copy.slice(0, -goneMark(id).length) : copy

/** What the views know of copies; those that are gone, too, by their former places. */
export const knownCopies = (db: Database): KnownCopy[] =>
  db
    .query<KnownCopy, []>(
      'SELECT copy_id AS id, copy, path, session, max(archived, indexed) AS "to" FROM transcripts',
    )
    .all()
    .map((one) => ({ ...one, copy: placeOf(one) }))
