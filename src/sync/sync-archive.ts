/**
 * Sends what is new in the archive to a target, and carries what was forgotten. In batches: each is safe there before it is
 * noted here, so whoever is killed goes on where he was, and what is sent twice is known there.
 */

import { CtxError, codeOf, isCtxError, messageOf } from "../base/errors.ts"
import { statsOf } from "../base/files.ts"
import { runTable, type TableStep } from "../base/step-table.ts"
import { count } from "../base/text.ts"
import { modelState } from "../find/embed/model-files.ts"
import type { Tombstone } from "../vault/tombstone.ts"
import { listTombstones } from "../vault/tombstones.ts"
import { databasePath } from "../views/database.ts"
import { changesSince, familiesSince, turnsOnlyIn } from "../views/queries/touched-files.ts"
import { sessionsOfTurns, turnByHandle } from "../views/queries/turns.ts"
import { allCopies } from "../views/transcript-rows.ts"
import { embeddedAmong } from "../views/vectors.ts"
import {
  type Batch,
  FormerVersions,
  isNamedByPath,
  mayBeAbout,
  mayHoldOf,
  nextBatch,
  type TurnToSend,
} from "./entry-maker.ts"
import type { Ledger, SentTurn } from "./sync-ledger.ts"
import type { SyncWorld } from "./sync-steps.ts"
import type { Tally, Target } from "./targets/target.ts"

type LookedAt = NonNullable<Ledger["looked"]>
type SeenThere = NonNullable<Ledger["there"]>

export const noCounts = () => ({
  /** Turns that were new here, or other than before. */
  turns: 0,
  /** Of these, turns that were stored there, that were there already, and that were forgotten there. */
  stored: 0,
  known: 0,
  refused: 0,
  /** Turns left out: of folders in `capture.exclude`, and those whose text cannot be read. */
  excluded: 0,
  unreadable: 0,
  /** Entries that are gone there because they were forgotten or changed here. */
  forgotten: 0,
  /** Turns that had been sent, were not there any more, and were sent again. */
  lost: 0,
  /** Entries that were taken out there because they could not be read. */
  mended: 0,
})

type Counts = ReturnType<typeof noCounts>
export type SyncReport = Readonly<Counts>

/** The entries' part of a sync: what it was called with, and what its steps have found and done. */
interface EntrySync {
  readonly target: Target
  readonly ledger: Ledger
  readonly world: SyncWorld
  readonly wanted: { readonly all: boolean }
  readonly counts: Counts
  lost: Lost
  /** What was forgotten here, and is to be told. */
  news: readonly Tombstone[]
  /** Turns that were sent, and are gone with it. */
  gone: readonly SentTurn[]
  /** Names what of this machine was looked at. */
  seen: string | undefined
  /** Whether nothing has changed, neither here nor there. */
  isQuiet: boolean
  formers: FormerVersions
  due: readonly TurnToSend[]
  /** As the views were when turns were chosen. */
  looked: LookedAt | undefined
  /** Sessions with turns that were due and could not be sent. */
  readonly left: Set<string>
}

const hasNews = ({ news }: EntrySync): boolean => news.length > 0
const hasChanged = ({ isQuiet }: EntrySync): boolean => !isQuiet

/** In this order. */
export const ENTRY_STEPS: readonly TableStep<EntrySync, "all">[] = [
  // What others have forgotten leaves what this machine keeps there.
  { name: "tidy", run: async ({ target }) => void (await target.put([])) },
  { name: "mend", needs: "all", run: mend },
  { name: "compare", run: compare },
  // Before anything is sent: nobody else sends it meanwhile.
  { name: "forget", due: hasNews, run: forget },
  { name: "choose", due: hasChanged, run: choose },
  { name: "send", due: hasChanged, run: send },
  // Only now is it known which turns are gone.
  { name: "clean", due: hasChanged, run: clean },
  { name: "note", run: note },
]

/** @param all looks at every turn again, for a target that has lost something, and after `redact` */
export async function syncArchive(
  target: Target,
  ledger: Ledger,
  world: SyncWorld,
  all: boolean,
): Promise<SyncReport> {
  const counts = noCounts()
  const formers = new FormerVersions(ledger, () => false, [])
  const nothing = {
    lost: NOTHING_LOST,
    news: [],
    gone: [],
    seen: undefined,
    isQuiet: false,
    formers,
    due: [],
    looked: undefined,
    left: new Set<string>(),
  }
  const sync: EntrySync = { target, ledger, world, wanted: { all }, counts, ...nothing }
  try {
    await runTable(ENTRY_STEPS, sync, () => all)
    return counts
  } catch (error) {
    if (counts.turns === 0) throw error
    const { hint, code } = isCtxError(error) ? error : { hint: undefined, code: codeOf(error) }
    const done = `${counts.turns} of ${count(sync.due.length, "turn")} are committed there`
    throw new CtxError(code, `${messageOf(error)}; ${done}`, {
      hint: hint ?? "run it again to go on",
      cause: error,
    })
  }
}

async function mend({ target, counts }: EntrySync): Promise<void> {
  counts.mended = await target.mend()
}

async function compare(sync: EntrySync): Promise<void> {
  const { target, ledger, world, wanted } = sync
  const lost = await lostThere(target, ledger)
  sync.lost = lost
  // What was forgotten is told again, since others would bring it back.
  sync.news = newsOf(ledger, world, lost.forgotten)
  sync.seen = seenBy(world)
  const isSeen = sync.seen !== undefined && sync.seen === ledger.seen
  sync.isQuiet = isSeen && ledger.isWhole && !wanted.all && sync.news.length + lost.turns.length === 0
}

async function forget(sync: EntrySync): Promise<void> {
  const { target, ledger, world, counts, news } = sync
  sync.gone = goneTurns(ledger, world, news)
  counts.forgotten += await target.forget({
    sessions: sessionsOf(news),
    ids: sync.gone.map(({ id }) => id),
    fills: textsOf(news),
  })
  await world.others?.look()
}

async function choose(sync: EntrySync): Promise<void> {
  const { target, ledger, world, news, lost, wanted } = sync
  const { all } = wanted
  const filled = world.others?.newlyFilled ?? []
  sync.formers = await FormerVersions.there(target, ledger, { news, filled, all })
  const missing = new Set([...handlesOf(lost.turns), ...sync.formers.absent])
  const isSure = !all && ledger.isWhole && news.length + filled.length + missing.size === 0
  const since = isSure ? ledger.looked : undefined
  const wished = { mayHold: mayHoldOf(news, filled), all, lost: missing, formers: sync.formers, since }
  const { due, looked } = dueTurns(ledger, world, wished)
  sync.due = due
  sync.looked = looked
  if (sync.due.length > 0) ledger.noteSending(true)
}

async function send(sync: EntrySync): Promise<void> {
  const { target, ledger, world, counts, formers, due, lost } = sync
  const lostHandles = handlesOf(lost.turns)
  let sending: Promise<void> = Promise.resolve()
  const sent = async (batch: Batch, at: number): Promise<void> => {
    if (batch.outdated.length > 0) counts.forgotten += await target.forget({ ids: batch.outdated })
    const { stored, known, refused } = await target.put(batch.entries)
    ledger.add(batch.sent)
    for (const session of batch.left) sync.left.add(session)
    counts.lost += batch.sent.filter(({ handle }) => lostHandles.has(handle)).length
    add(counts, batch)
    counts.stored += stored
    counts.known += known
    counts.refused += refused
    world.onProgress?.("sending", at, due.length)
  }
  try {
    for (let at = 0; at < due.length; ) {
      world.goOn?.()
      // Made while the former one is on its way.
      const batch = await nextBatch(due, at, formers, world)
      at += batch.looked
      target.prepare?.(batch.entries)
      await sending
      sending = sent(batch, at)
      // Whoever waits for it next is told.
      sending.catch(() => {})
    }
  } finally {
    await sending
  }
}

async function clean(sync: EntrySync): Promise<void> {
  const { target, world, counts, news, formers } = sync
  const { dead, waiting } = formers.gone(news, world.place.dataHome)
  if (dead.length > 0) counts.forgotten += await target.forget({ ids: dead })
  // What cannot be carried out as yet is told again by the next sync.
  sync.news = news.filter((one) => !waiting.some((session) => mayBeAbout(one, session)))
}

async function note(sync: EntrySync): Promise<void> {
  const { target, ledger, counts, news, gone, lost, due, seen, looked } = sync
  if (sync.isQuiet) {
    ledger.noteThere(lost.there)
    return ledger.noteLooked()
  }
  const isAll = counts.excluded + counts.unreadable === 0
  // What is neither there nor here is nobody's.
  const dueHandles = handlesOf(due)
  const nowhere = lost.turns.filter(({ handle }) => !dueHandles.has(handle))
  const theirs = due.filter(({ isTheirs }) => isTheirs)
  const left = [...gone, ...nowhere, ...theirs].map(({ handle }) => handle)
  ledger.settle(news, left, isAll ? seen : undefined)
  ledger.noteThere(await seenThere(target))
  ledger.noteSending(false)
  ledger.noteLooked(looked && { ...looked, left: [...sync.left] })
}

const handlesOf = (turns: readonly Pick<SentTurn, "handle">[]): ReadonlySet<string> =>
  new Set(turns.map(({ handle }) => handle))

interface Lost {
  /** What was sent, and is not there. */
  readonly turns: readonly SentTurn[]
  /** Whether something that was forgotten there is not any more. */
  readonly forgotten: boolean
  /** What is there. */
  readonly there: SeenThere
}

const NOTHING_LOST: Lost = { turns: [], forgotten: false, there: { forgotten: 0 } }

/** What the target has lost since the last sync: files deleted, rows removed, all of it restored from an earlier day. */
async function lostThere(target: Target, ledger: Ledger): Promise<Lost> {
  const before = ledger.there
  const there = await seenThere(target)
  const forgotten = there.forgotten < (before?.forgotten ?? 0)
  const isSure =
    there.tally !== undefined && before?.tally !== undefined && !hasLess(there.tally, before.tally)
  const turns = isSure || ledger.turns.size === 0 ? [] : await target.lacking(ledger.turns.values())
  return { turns, forgotten, there }
}

async function seenThere(target: Target): Promise<SeenThere> {
  const tally = await target.tally?.()
  return { ...(tally && { tally }), forgotten: await target.forgottenThere() }
}

const hasLess = (now: Tally, before: Tally): boolean =>
  Object.entries(before).some(([writer, [turns, lines]]) => {
    const [turnsNow, linesNow] = now[writer] ?? [0, 0]
    return turnsNow < turns || linesNow < lines
  })

/** Names the views and the vectors in them as they are now, with all that hooks have left. */
function seenBy({ place: { dataHome }, look, others }: SyncWorld): string | undefined {
  look(() => {})
  const stamp = viewsStamp(dataHome, Date.now())
  return stamp && `${stamp} ${modelState(dataHome).model?.embedder} ${others?.fillsStamp ?? ""}`
}

/** What a sync would do, as far as this machine knows. Nobody is asked, and nothing is written. */
export async function plannedSync(ledger: Ledger, world: SyncWorld, all: boolean): Promise<SyncReport> {
  const counts = noCounts()
  const news = newsOf(ledger, world, false)
  counts.forgotten += goneTurns(ledger, world, news).length
  const mayHold = mayHoldOf(news, [])
  const formers = new FormerVersions(ledger, mayHold, [])
  const { due } = dueTurns(ledger, world, { mayHold, all, lost: new Set(), formers })
  for (let at = 0; at < due.length; ) {
    const batch = await nextBatch(due, at, formers, world)
    add(counts, batch)
    counts.forgotten += batch.outdated.length
    at += batch.looked
    world.onProgress?.("sending", at, due.length)
  }
  return counts
}

function add(counts: Counts, { entries, excluded, unreadable, withheld }: Batch): void {
  counts.turns += entries.length
  counts.excluded += excluded
  counts.unreadable += unreadable
  counts.refused += withheld
}

/** What was forgotten here since the last sync, or ever. */
const newsOf = (ledger: Ledger, { place }: Pick<SyncWorld, "place">, isAll: boolean): Tombstone[] =>
  listTombstones(place.dataHome).filter((tombstone) => isAll || !ledger.knows(tombstone))

/** Turns that were sent, and are gone since something was forgotten in their session. */
function goneTurns(ledger: Ledger, world: SyncWorld, news: readonly Tombstone[]): SentTurn[] {
  if (news.length === 0) return []
  const { gone } = world.look((db) => changesSince(db, ledger.watermark))
  return gone
    .map((handle) => ledger.turns.get(handle)!)
    .filter((turn) => news.some((tombstone) => mayBeAbout(tombstone, turn.session)))
}

/** The sessions that are forgotten as a whole, and subagents. */
const sessionsOf = (news: readonly Tombstone[]): string[] =>
  news
    .filter((one) => !isNamedByPath(one))
    .flatMap(({ session, whole, agents }) =>
      whole ? [session] : agents.map((agent) => `${session}/${agent}`),
    )

const textsOf = (news: readonly Tombstone[]): Tombstone[] =>
  news.filter((one) => !isNamedByPath(one) && !one.whole && Object.keys(one.lines).length > 0)

interface Wished {
  readonly mayHold: ReturnType<typeof mayHoldOf>
  /** Whether every turn is due. */
  readonly all: boolean
  /** Handles of what is missing there. */
  readonly lost: ReadonlySet<string>
  readonly formers: FormerVersions
  /** Undefined: all turns are compared with what was sent. Else nothing has become due but by what was written since. */
  readonly since?: LookedAt | undefined
}

function dueTurns(
  ledger: Ledger,
  { place, look, others }: SyncWorld,
  { mayHold, all, lost, formers, since }: Wished,
): { readonly due: TurnToSend[]; readonly looked: LookedAt } {
  return look((db) => {
    const isTheirs = (copy: string): boolean => others?.isTheirs(copy) === true
    const embedder = modelState(place.dataHome).model?.embedder ?? null
    const known = since?.embedder === embedder ? since : undefined
    const embedded = embedder === null ? [] : embeddedAmong(db, ledger.bare, embedder)
    const also = known === undefined ? [] : [...known.left, ...sessionsOfTurns(db, embedded)]
    // Before turns are read: what is written meanwhile is looked at next time.
    const { mark, families } = familiesSince(db, isTheirs, known?.mark, also)
    if (families !== undefined) ledger.readFamilies(families)
    const { changed, watermark } = changesSince(db, all ? new Map() : ledger.watermark, families)
    const copies = allCopies(db).map(({ copy }) => copy)
    const theirs = turnsOnlyIn(db, copies.filter(isTheirs), families)
    const due = new Set(changed)
    for (const handle of [...lost, ...embedded]) if (watermark.has(handle)) due.add(handle)
    for (const [handle, sent] of ledger.turns) {
      // A text that was forgotten in a tool's input does not show in the views.
      if (watermark.has(handle) && mayHold(sent.session)) due.add(handle)
    }
    const unnoted = formers.sessions
    const mayBeThere = (handle: string): boolean =>
      ledger.turns.has(handle) || (unnoted.size > 0 && unnoted.has(turnByHandle(db, handle)?.session ?? ""))
    const wanted = [...due]
      .map((handle) => ({ handle, state: watermark.get(handle)!, isTheirs: theirs.has(handle) }))
      .filter(({ handle, isTheirs }) => !isTheirs || mayBeThere(handle))
    return { due: wanted, looked: { mark, embedder, left: [] } }
  })
}

/* Tells at a glance that nothing has been written to the views: looking at every turn takes a second for 100,000. */

/** ms within which two writes may leave the same time behind. */
const TOO_RECENT = 2000

/** @returns undefined if they have just been written to, or are not there */
function viewsStamp(dataHome: string, now: number): string | undefined {
  const files = [databasePath(dataHome), `${databasePath(dataHome)}-wal`].map((path) => statsOf(path))
  if (
    files[0] === undefined ||
    files.some((stats) => stats !== undefined && stats.mtimeMs > now - TOO_RECENT)
  )
    return undefined
  return files.map((stats) => `${stats?.ino} ${stats?.size} ${stats?.mtimeMs}`).join()
}
