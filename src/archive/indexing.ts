/** Index: how what is in the vault gets into the views. */

import { CtxError, codeOf } from "../util/errors.ts"
import type { Captured } from "../vault/capture.ts"
import { vaultFile } from "../vault/layout.ts"
import { type Stretch, stretchesFrom, tailOf } from "../vault/reader.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import type { Database } from "./database.ts"
import { ingest } from "./ingest.ts"
import { claimPending, listPending, markPending, type Pending, settlePending } from "./pending.ts"
import { dropPointers } from "./pointers.ts"
import { noteCopy, type TranscriptRow, transcriptById } from "./transcripts.ts"

/** What to index; of what was captured just now, the copy that it went to. */
type Indexed = Pending & { readonly captured?: Pick<Captured, "id"> }

/** Code of the error when the host rewrote the transcript, and its copy was set aside, while we read it. */
const REPLACED = "copy-replaced"

/**
 * Brings the views up to date with one copy, inside the caller's transaction. After its commit, the caller settles
 * what was pending.
 *
 * @param until stops the work, between two lines, when it says true
 * @param fresh what was just captured, to save reading it back
 * @returns the transcript's row as it is now; undefined when there is no such copy
 */
export function index(
  db: Database,
  dataHome: string,
  pending: Indexed,
  until: () => boolean,
  fresh: readonly Stretch[] = [],
): TranscriptRow | undefined {
  claimPending(dataHome, pending.copy)
  // Before the commit: who reads the views that we make finds no pointer that is older.
  dropPointers(dataHome)
  const done = indexCopy(db, dataHome, pending, until, fresh)
  if (done === undefined) return undefined
  // Half a line at the end waits without a marker: more bytes will leave one.
  if (done.indexed < done.archived && until()) markPending(dataHome, pending)
  return done
}

/** The same without a look at markers, for views that nobody reads yet. */
export function indexCopy(
  db: Database,
  dataHome: string,
  copy: Indexed,
  until: () => boolean,
  fresh: readonly Stretch[] = [],
): TranscriptRow | undefined {
  const row = noteCopy(db, dataHome, copy)
  if (row === undefined) return undefined
  return indexRow(db, dataHome, row, until, isStill(dataHome, copy, row) ? fresh : [])
}

/** Whether the copy holds what was captured: another hook may have begun it anew since, or text in it be forgotten. */
const isStill = (
  dataHome: string,
  { captured, session, path }: Indexed,
  { copyId }: TranscriptRow,
): boolean =>
  captured === undefined || (captured.id === copyId && forgottenOf(dataHome, session, path) === undefined)

function indexRow(
  db: Database,
  dataHome: string,
  row: TranscriptRow,
  until: () => boolean,
  fresh: readonly Stretch[],
): TranscriptRow {
  let current = row
  if (current.indexed >= current.archived) return current
  const held = fresh[0] !== undefined && fresh[0].from <= current.indexed
  const stretches = held ? fresh : stretchesFrom(vaultFile(dataHome, current.copy), current.indexed)
  let rest: Uint8Array = new Uint8Array(0)
  for (const { from, content } of stretches) {
    const skip = Math.max(0, current.indexed + rest.length - from)
    if (skip >= content.length) continue
    const unread = content.subarray(skip)
    const bytes = rest.length === 0 ? unread : Buffer.concat([rest, unread])
    const isEnd = from + content.length >= current.archived
    const indexed = ingest(db, current, current.indexed, bytes, isEnd, until)
    rest = bytes.subarray(indexed - current.indexed)
    current = transcriptById(db, current.id)!
    if (until()) break
  }
  // Under its name there may have been another copy by the time we opened it: then none of this is the row's.
  if (!held && tailOf(vaultFile(dataHome, current.copy))?.header.id !== current.copyId)
    throw new CtxError(REPLACED, "the copy was set aside while it was read; the next look finds it")
  return current
}

/** ms of indexing in one transaction, so that others get their turn. */
const SLICE = 300

/**
 * Indexes whatever hooks have left to index.
 *
 * A copy that cannot be read keeps its marker and keeps nobody else out; `verify` tells what is wrong with it.
 *
 * @param end ms of performance.now() at which to stop
 * @param onSlice called before each transaction; what it throws ends the work
 * @returns how many transcripts are still behind
 */
export function catchUp(db: Database, dataHome: string, end: number, onSlice: () => void = () => {}): number {
  const unreadable = new Set<string>()
  for (;;) {
    const waiting = listPending(dataHome).filter(({ copy }) => !unreadable.has(copy))
    if (waiting.length === 0) return unreadable.size
    for (const one of waiting) {
      // Each to its end: of lines that several copies have, whoever is indexed first has them.
      for (let last = -1; ; ) {
        if (performance.now() >= end) return listPending(dataHome).length
        onSlice()
        const row = readably(unreadable, one, () => indexSlice(db, dataHome, one, end))
        // No progress: only half a line is left.
        if (row === undefined || row.indexed >= row.archived || row.indexed === last) break
        last = row.indexed
      }
    }
  }
}

function indexSlice(db: Database, dataHome: string, one: Pending, end: number): TranscriptRow | undefined {
  const stop = Math.min(end, performance.now() + SLICE)
  const row = db.transaction(() => index(db, dataHome, one, () => performance.now() >= stop)).immediate()
  settlePending(dataHome, one.copy)
  return row
}

/** Adds a copy that cannot be read to `unreadable`; one that was replaced meanwhile is found by the next look. */
function readably<T>(unreadable: Set<string>, { copy }: Pending, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_")) throw error
    if (codeOf(error) !== REPLACED) unreadable.add(copy)
    return undefined
  }
}
