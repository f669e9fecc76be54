/** Brings what is in the vault into the views. */

import { CtxError, codeOf } from "../base/errors.ts"
import { NEWLINE } from "../record/lines-with.ts"
import { type Captured, LONGEST_UNCUT } from "../vault/capture.ts"
import { doubtCopies, noteCopies } from "../vault/copy-list.ts"
import { isBesideCopy, isHistoryCopy, vaultFile } from "../vault/layout.ts"
import {
  claimPending,
  listPending,
  markPending,
  type Pending,
  pendingInOrder,
  settlePending,
} from "../vault/pending.ts"
import { type Gap, type Stretch, stretchesFrom, tailOf } from "../vault/reader.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { isOwned } from "./beside-rows.ts"
import type { Database } from "./database.ts"
import { Ingestion } from "./ingest.ts"
import { dropPointers } from "./pointers.ts"
import {
  formerOf,
  noteCopy,
  type TranscriptRow,
  transcriptByCopy,
  transcriptById,
} from "./transcript-rows.ts"
import { WordWriter } from "./word-index.ts"

/** What to index; if it was captured just now, with the id of the copy it went to. */
type Indexed = Pending & { readonly captured?: Pick<Captured, "id"> }

/**
 * Whether to stop between two lines.
 *
 * @param isStuck whether not a single line is done yet: whoever will call again with as little time must go on then
 * @param left bytes of the copy that are not done yet
 */
type Until = (isStuck: boolean, left: number) => boolean

/** Stops at a time, in ms of performance.now(), but not before a line is done. */
export const untilDone =
  (stop: number): Until =>
  (isStuck) =>
    !isStuck && performance.now() >= stop

/** What the views lack of a copy, because it cannot be read. */
export interface ViewsGap extends Gap {
  readonly copy: string
  readonly copyId: string
}

/** Told of what is passed over; whoever has none is stopped by it, and leaves the copy to the next. */
export type OnGap = (gap: ViewsGap) => void

/** Has the next `import` look at the copy. */
export const doubting =
  (dataHome: string): OnGap =>
  ({ copy }) =>
    doubtCopies(dataHome, new Set([copy]))

/** Error code if Claude Code rewrote the transcript while we read its copy, and the copy was set aside. */
const REPLACED = "copy-replaced"

/**
 * Brings the views up to date with one copy, inside the caller's transaction. The caller settles the marker after the
 * commit.
 *
 * @param until stops the work between two lines as soon as it returns true
 * @param fresh what was just captured, to save reading it back
 * @returns the transcript's current row; undefined if there is no such copy
 */
export function index(
  db: Database,
  dataHome: string,
  pending: Indexed,
  until: Until,
  fresh: readonly Stretch[] = [],
  onGap?: OnGap,
): TranscriptRow | undefined {
  claimPending(dataHome, pending.copy)
  // Before the commit, so that nobody finds a pointer older than the views that we make.
  dropPointers(dataHome)
  let isStopped = false
  const stops: Until = (isStuck, left) => {
    isStopped ||= until(isStuck, left)
    return isStopped
  }
  const done = indexCopy(db, dataHome, pending, stops, fresh, onGap)
  if (done === undefined) return undefined
  // Half a line at the end needs no marker, since more bytes will leave one, however long it took to read.
  if (done.indexed < done.archived && isStopped) markPending(dataHome, pending)
  return done
}

/** Like `index` but ignores markers, for views that nobody reads yet. */
export function indexCopy(
  db: Database,
  dataHome: string,
  copy: Indexed,
  until: Until,
  fresh: readonly Stretch[] = [],
  onGap?: OnGap,
): TranscriptRow | undefined {
  const row = noteCopy(db, dataHome, copy)
  if (row === undefined) return undefined
  // Its turn is not there yet: the job looks again.
  if (isBesideCopy(row.copy) && !isOwned(db, row)) return row
  if (row.indexed === 0 && !indexFormer(db, dataHome, copy, until, onGap)) return row
  return indexRow(db, dataHome, row, until, isStill(dataHome, copy, row) ? fresh : [], onGap)
}

/**
 * Indexes what Claude Code has replaced by the content of this copy: turns are numbered as they are read, and what was
 * said before comes first.
 *
 * @returns false if time ran out first
 */
function indexFormer(db: Database, dataHome: string, copy: Pending, until: Until, onGap?: OnGap): boolean {
  for (let n = 1; ; n++) {
    const former = noteCopy(db, dataHome, formerOf(copy, n))
    if (former === undefined) return true
    // In a transaction of its own, because one that is damaged must not hold up what came after.
    const followed = db.transaction(() => indexRow(db, dataHome, former, until, [], onGap))
    const done = readably(new Set(), former, () => followed())
    if (done !== undefined && done.indexed < done.archived && until(false, done.archived - done.indexed))
      return false
  }
}

/** Whether the copy holds what was captured: a hook may have begun it anew since, or text in it been forgotten. */
const isStill = (
  dataHome: string,
  { captured, session, path, copy }: Indexed,
  { copyId }: TranscriptRow,
): boolean =>
  captured === undefined ||
  (captured.id === copyId && !isHistoryCopy(copy) && forgottenOf(dataHome, session, path) === undefined)

function indexRow(
  db: Database,
  dataHome: string,
  row: TranscriptRow,
  until: Until,
  fresh: readonly Stretch[],
  onGap: OnGap | undefined,
  words: WordWriter = new WordWriter(db),
): TranscriptRow {
  let current = row
  if (current.indexed >= current.archived) return current
  const held = fresh[0] !== undefined && fresh[0].from <= current.indexed
  const gaps: Gap[] = []
  const stretches = held
    ? fresh
    : stretchesFrom(vaultFile(dataHome, current.copy), current.indexed, onGap && ((gap) => gaps.push(gap)))
  let rest: Uint8Array = new Uint8Array(0)
  /** Bytes read of a line that is too long to be indexed. */
  let passed = 0
  const stops = (done: number): boolean => until(done === row.indexed, row.archived - done)
  const lines = new Ingestion(db, current, current.indexed, words, dataHome)
  try {
    for (const { from, content } of stretches) {
      const expected = current.indexed + passed + rest.length
      if (from > expected) {
        // What cannot be read takes the line with it that it cuts; behind it, a line begins.
        const isKnown = gaps.at(-1)?.to === from
        const gap = { from: expected, to: from, error: "it is not there" }
        if (!isKnown && onGap === undefined)
          throw new CtxError("vault-damaged", `bytes ${expected} to ${from}: ${gap.error}`)
        if (!isKnown) gaps.push(gap)
        rest = new Uint8Array(0)
        passed = 0
        current = { ...current, indexed: lines.passOver(from) }
      }
      const read = passed + rest.length
      const skip = Math.max(0, current.indexed + read - from)
      if (skip >= content.length) continue
      let unread = content.subarray(skip)
      if (read + unread.length > LONGEST_UNCUT) {
        const end = unread.indexOf(NEWLINE)
        if (read + (end < 0 ? unread.length : end) > LONGEST_UNCUT) {
          passed = end < 0 ? read + unread.length : 0
          rest = new Uint8Array(0)
          if (end >= 0) current = { ...current, indexed: lines.passOver(current.indexed + read + end + 1) }
          unread = unread.subarray(end < 0 ? unread.length : end + 1)
        }
      }
      const bytes = rest.length === 0 ? unread : Buffer.concat([rest, unread])
      const isEnd = from + content.length >= current.archived
      const indexed = lines.apply(current.indexed, bytes, isEnd, stops)
      rest = bytes.subarray(indexed - current.indexed)
      current = { ...current, indexed }
      if (stops(current.indexed)) break
    }
    const last = gaps.at(-1)
    if (last !== undefined && last.to >= current.archived) lines.passOver(last.to)
  } finally {
    // Also when a line could not be applied: what came before it is committed.
    lines.finish()
    words.flush()
  }
  // By the time we opened it, another copy may have had its name, and then none of this belongs to the row.
  if (!held && tailOf(vaultFile(dataHome, current.copy))?.header.id !== current.copyId)
    throw new CtxError(REPLACED, "the copy was set aside while it was read; the next look finds it")
  for (const gap of gaps) onGap?.({ copy: current.copy, copyId: current.copyId, ...gap })
  return transcriptById(db, current.id)!
}

/** What was passed over before a session's end was indexed, and what is therefore not known. */
export interface PassedOver {
  /** Bytes that nobody has looked at. */
  readonly unseen: number
  /** Bytes of which only what tells of turns and tasks was read. */
  readonly skimmed: number
  /** Id of the last message before the end. How things stood then, they may not stand any more. */
  readonly message: number
  /** Ids of the first and the last turn of which something was passed over. */
  readonly turns: readonly [number, number]
}

/** How much faster lines are skimmed than indexed, at least. */
const SKIMMED_FASTER = 20

/**
 * Indexes the end of a transcript that cannot be indexed in time, and of what comes before it only what tells of turns
 * and tasks. Turns are numbered as they are read, so none of it may stay: to be undone by the caller.
 *
 * @param most bytes to index
 * @param fresh what was just captured
 * @returns undefined if time ran out, or it is unknown which turn the end belongs to
 */
export function indexEnd(
  db: Database,
  dataHome: string,
  pending: Indexed,
  most: number,
  until: () => boolean,
  fresh: readonly Stretch[] = [],
): PassedOver | undefined {
  const row = transcriptByCopy(db, pending.copy)
  if (row === undefined) return undefined
  const known = isStill(dataHome, pending, row) ? fresh : []
  const end = Math.max(row.indexed, row.archived - most)
  const from = Math.max(row.indexed, end - most * SKIMMED_FASTER)
  const { turn: former } = latestIds(db)
  const skimmed = end > row.indexed ? skim(db, dataHome, row, { from, end, until, fresh: known }) : row
  if (skimmed === undefined || (skimmed.indexed > row.indexed && !isInTurn(db, skimmed, from > row.indexed)))
    return undefined
  const latest = latestIds(db)
  const passed: PassedOver =
    skimmed.indexed === row.indexed
      ? { unseen: 0, skimmed: 0, message: 0, turns: [0, 0] }
      : {
          unseen: from - row.indexed,
          skimmed: skimmed.indexed - from,
          message: latest.message,
          turns: [row.turn ?? former + 1, latest.turn],
        }
  // What is damaged is found when it stays.
  indexRow(db, dataHome, skimmed, until, known, () => {}, new WordWriter(db, false))
  return passed
}

const latestIds = (db: Database): { message: number; turn: number } =>
  db
    .query<{ message: number; turn: number }, []>(
      `SELECT coalesce((SELECT max(id) FROM messages), 0) AS message,
         coalesce((SELECT max(id) FROM turns), 0) AS turn`,
    )
    .get()!

/** @param isCut whether lines are missing before it: then one without a prompt may belong to any, and gets another handle */
function isInTurn(db: Database, { turn }: TranscriptRow, isCut: boolean): boolean {
  if (turn === null || !isCut) return turn !== null
  return db.query("SELECT 1 FROM turns WHERE id = ? AND via <> 'none'").get(turn) !== null
}

interface Skimmed {
  /** Where to begin. If that is not where the views have come to, with the next line. */
  readonly from: number
  /** Where to stop, at the end of the line. */
  readonly end: number
  readonly until: () => boolean
  readonly fresh: readonly Stretch[]
}

/** @returns the row as far as it was skimmed; undefined if time ran out */
function skim(
  db: Database,
  dataHome: string,
  row: TranscriptRow,
  { from, end, until, fresh }: Skimmed,
): TranscriptRow | undefined {
  const lines = new Ingestion(
    db,
    from > row.indexed ? { ...row, turn: null } : row,
    from,
    new WordWriter(db, false),
    dataHome,
  )
  const held = fresh[0] !== undefined && fresh[0].from <= from
  let done = row.indexed
  const stretches = held ? fresh : stretchesFrom(vaultFile(dataHome, row.copy), from, () => {})
  for (const { from: start, content } of stretches) {
    if (start + content.length <= from) continue
    const isCut = start < from && from > row.indexed
    const begin = isCut ? content.indexOf(NEWLINE, from - start) + 1 : Math.max(0, from - start)
    const last = content.indexOf(NEWLINE, Math.max(0, end - start - 1)) + 1
    const stop = start + content.length < end || last === 0 ? content.length : last
    if (until() || !lines.skim(start + begin, content.subarray(begin, stop), until)) return undefined
    done = start + stop
    if (done >= end) break
  }
  lines.passOver(done)
  lines.finish()
  // What was answered before the first prompt belongs to a turn that was not seen.
  if (from > row.indexed)
    db.query(
      `DELETE FROM notes WHERE session = ?1
         AND turn IN (SELECT id FROM turns WHERE session = ?1 AND via = 'none' AND first >= ?2)`,
    ).run(row.session, from)
  return transcriptById(db, row.id)
}

/** ms of indexing in one transaction, so that others get their turn. */
const SLICE = 300
/** ms between two of them. Whoever waits looks only now and then. */
const GAP = 5

/**
 * Indexes whatever hooks have left to index.
 *
 * A copy that cannot be read keeps its marker and does not hold up the others; of one that is damaged, the rest is
 * indexed. `verify` tells what is wrong with it, and `import` looks at it.
 *
 * @param end ms of performance.now() at which to stop
 * @param onSlice called before each transaction; what it throws ends the work
 * @returns how many transcripts are still behind
 */
export function catchUp(db: Database, dataHome: string, end: number, onSlice: () => void = () => {}): number {
  const unreadable = new Set<string>()
  const followed = new Map<string, Pending>()
  const damaged = new Set<string>()
  try {
    return followMarked(db, dataHome, end, onSlice, { unreadable, followed, damaged })
  } finally {
    // Nobody waits for a hook here: those index by themselves.
    if (followed.size > 0) noteCopies(dataHome, followed.values())
    if (damaged.size > 0) doubtCopies(dataHome, damaged)
  }
}

/** What has been met in one run. */
interface Met {
  readonly unreadable: Set<string>
  readonly followed: Map<string, Pending>
  /** Those with a gap. */
  readonly damaged: Set<string>
}

function followMarked(
  db: Database,
  dataHome: string,
  end: number,
  onSlice: () => void,
  { unreadable, followed, damaged }: Met,
): number {
  for (;;) {
    const waiting = pendingInOrder(dataHome).filter(({ copy }) => !unreadable.has(copy))
    if (waiting.length === 0) return unreadable.size
    for (const one of waiting) {
      // Each copy to its end, because lines shared by several copies belong to whichever is indexed first.
      for (let last = -1; ; ) {
        if (performance.now() >= end) return listPending(dataHome).length
        onSlice()
        followed.set(one.copy, one)
        const row = readably(unreadable, one, () =>
          indexSlice(db, dataHome, one, end, ({ copy }) => damaged.add(copy)),
        )
        // No progress means that only half a line is left.
        if (row === undefined || row.indexed >= row.archived || row.indexed === last) break
        last = row.indexed
        Bun.sleepSync(GAP)
      }
    }
  }
}

function indexSlice(
  db: Database,
  dataHome: string,
  one: Pending,
  end: number,
  onGap: OnGap,
): TranscriptRow | undefined {
  const stop = Math.min(end, performance.now() + SLICE)
  const row = db.transaction(() => index(db, dataHome, one, untilDone(stop), [], onGap)).immediate()
  settlePending(dataHome, one.copy)
  return row
}

/** Adds a copy that cannot be read to `unreadable`. One that was replaced meanwhile is left to the next look. */
function readably<T>(unreadable: Set<string>, { copy }: Pick<Pending, "copy">, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_")) throw error
    if (codeOf(error) !== REPLACED) unreadable.add(copy)
    return undefined
  }
}
