/**
 * Sends what is new in the archive to a backend, and carries what was forgotten. In batches: each is safe there before
 * it is noted here, so whoever is killed goes on where he was, and what is sent twice is known there.
 */
import type { Database } from "../archive/database.ts"
import { changesSince, turnsOnlyIn } from "../archive/queries/touched-files.ts"
import { turnByHandle } from "../archive/queries/turns.ts"
import { allCopies } from "../archive/transcript-rows.ts"
import { embeddedHandles } from "../archive/turn-vectors.ts"
import { viewsStamp } from "../archive/views-stamp.ts"
import { type Backend, type Forgetting, hasLess } from "../backends/backend.ts"
import type { Entry } from "../backends/entry.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { installedModel } from "../embed/model-files.ts"
import { CtxError, codeOf, isCtxError, messageOf } from "../util/errors.ts"
import { count } from "../util/text.ts"
import { listTombstones, type Tombstone } from "../vault/tombstones.ts"
import { EntryMaker } from "./entry-maker.ts"
import { FormerVersions, isNamedByPath, type MayHold, mayBeAbout, mayHoldOf } from "./former-versions.ts"
import type { Ledger, SeenThere, SentTurn } from "./sync-ledger.ts"

/** Entries and UTF-16 units of a batch. */
const MOST_ENTRIES = 1000
const MOST_TEXT = 2_000_000
/** Turns that are read before anything else has its turn. */
const AT_ONCE = 50

export interface SyncWorld {
  readonly place: PathsAndPolicy
  /** Opens the views for one look: whoever wants them alone need not wait for the network. */
  readonly look: <T>(use: (db: Database) => T) => T
  readonly onProgress?: (label: string, done: number, total: number) => void
  /** Called before each batch; what it throws ends the sync. */
  readonly goOn?: () => void
  /** Whether whoever sent the bytes of this copy of the vault has sent its turns, too. */
  readonly isTheirs?: (copy: string) => boolean
  /** Fills in lines of a session what other machines have taken out; undefined if that is nothing. */
  readonly fillerFor?: (session: string) => ((line: Uint8Array) => Uint8Array) | undefined
  /** Sessions out of which they have taken something; none if that is no more than at the last sync. */
  readonly newlyFilled?: () => readonly string[]
  /** Another one whenever they have taken out more. */
  readonly fillsStamp?: () => string
  /** Carries forgotten sessions to what is kept there besides entries. */
  readonly alsoForget?: (sessions: readonly string[], texts: readonly Tombstone[]) => Promise<void>
}

export interface SyncReport {
  /** Turns that were new here, or other than before. */
  readonly turns: number
  /** Of these, turns that were stored there, that were there already, and that were forgotten there. */
  readonly stored: number
  readonly known: number
  readonly refused: number
  /** Turns left out: of folders in `capture.exclude`, and those whose text cannot be read. */
  readonly excluded: number
  readonly unreadable: number
  /** Entries that are gone there because they were forgotten or changed here. */
  readonly forgotten: number
  /** Turns that had been sent, were not there any more, and were sent again. */
  readonly lost: number
  /** Entries that were taken out there because they could not be read. */
  readonly mended: number
}

type Counts = { -readonly [K in keyof SyncReport]: number }

/** @param all looks at every turn again, for a target that has lost something, and after `redact` */
export async function syncArchive(
  backend: Backend,
  ledger: Ledger,
  world: SyncWorld,
  all: boolean,
): Promise<SyncReport> {
  const counts = noCounts()
  let total = 0
  try {
    await backend.put([])
    if (all) counts.mended = await backend.mend()
    const lost = await lostThere(backend, ledger)
    // What was forgotten is told again, since others would bring it back.
    const news = newsOf(ledger, world, lost.forgotten)
    const seen = seenBy(world)
    const isQuiet = news.length === 0 && lost.turns.length === 0
    if (!all && isQuiet && seen !== undefined && seen === ledger.seen) {
      ledger.noteThere(lost.there)
      return counts
    }
    const gone = goneTurns(ledger, world, news)
    if (news.length > 0) counts.forgotten += await backend.forget(forgetting(news, gone))
    if (news.length > 0) await world.alsoForget?.(sessionsOf(news), textsOf(news))
    const filled = world.newlyFilled?.() ?? []
    const formers = await FormerVersions.there(backend, ledger, { news, filled, all })
    const lostHandles = new Set(lost.turns.map(({ handle }) => handle))
    const looked = { mayHold: mayHoldOf(news, filled), all, lost: lostHandles, formers }
    const due = dueTurns(ledger, world, looked)
    total = due.length
    if (due.length > 0) ledger.noteSending(true)
    let sending: Promise<void> = Promise.resolve()
    const send = async (batch: Batch, at: number): Promise<void> => {
      if (batch.outdated.length > 0) counts.forgotten += await backend.forget({ ids: batch.outdated })
      const { stored, known, refused } = await backend.put(batch.entries)
      ledger.add(batch.sent)
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
        const batch = await nextBatch(due.slice(at, at + MOST_ENTRIES), formers, world)
        at += batch.looked
        backend.prepare?.(batch.entries)
        await sending
        sending = send(batch, at)
        // Whoever waits for it next is told.
        sending.catch(() => {})
      }
    } finally {
      await sending
    }
    const { dead, waiting } = formers.gone(news, world.place.dataHome)
    if (dead.length > 0) counts.forgotten += await backend.forget({ ids: dead })
    const isAll = counts.excluded + counts.unreadable === 0
    // What is neither there nor here is nobody's.
    const dueHandles = new Set(due.map(({ handle }) => handle))
    const nowhere = lost.turns.filter(({ handle }) => !dueHandles.has(handle))
    const theirs = due.filter(({ isTheirs }) => isTheirs)
    const left = [...gone, ...nowhere, ...theirs].map(({ handle }) => handle)
    const settled = news.filter((one) => !waiting.some((session) => mayBeAbout(one, session)))
    ledger.settle(settled, left, isAll ? seen : undefined)
    ledger.noteThere(await seenThere(backend))
    ledger.noteSending(false)
    return counts
  } catch (error) {
    if (counts.turns === 0) throw error
    const { hint, code } = isCtxError(error) ? error : { hint: undefined, code: codeOf(error) }
    const done = `${counts.turns} of ${count(total, "turn")} are committed there`
    throw new CtxError(code, `${messageOf(error)}; ${done}`, {
      hint: hint ?? "run it again to go on",
      cause: error,
    })
  }
}

interface Lost {
  /** What was sent, and is not there. */
  readonly turns: readonly SentTurn[]
  /** Whether something that was forgotten there is not any more. */
  readonly forgotten: boolean
  /** What is there. */
  readonly there: SeenThere
}

/** What the target has lost since the last sync: files deleted, rows removed, all of it restored from an earlier day. */
async function lostThere(backend: Backend, ledger: Ledger): Promise<Lost> {
  const before = ledger.there
  const there = await seenThere(backend)
  const forgotten = there.forgotten < (before?.forgotten ?? 0)
  const isSure =
    there.tally !== undefined && before?.tally !== undefined && !hasLess(there.tally, before.tally)
  const turns = isSure || ledger.turns.size === 0 ? [] : await backend.lacking(ledger.turns.values())
  return { turns, forgotten, there }
}

async function seenThere(backend: Backend): Promise<SeenThere> {
  const tally = await backend.tally?.()
  return { ...(tally && { tally }), forgotten: await backend.forgottenThere() }
}

/** Names the views and the vectors in them as they are now, with all that hooks have left. */
function seenBy({ place: { dataHome }, look, fillsStamp }: SyncWorld): string | undefined {
  look(() => {})
  const stamp = viewsStamp(dataHome, Date.now())
  return stamp && `${stamp} ${installedModel(dataHome)?.embedder} ${fillsStamp?.() ?? ""}`
}

/** What a sync would do, as far as this machine knows. Nobody is asked, and nothing is written. */
export async function plannedSync(ledger: Ledger, world: SyncWorld, all: boolean): Promise<SyncReport> {
  const counts = noCounts()
  const news = newsOf(ledger, world, false)
  counts.forgotten += goneTurns(ledger, world, news).length
  const mayHold = mayHoldOf(news, [])
  const formers = new FormerVersions(ledger, mayHold, [])
  const due = dueTurns(ledger, world, { mayHold, all, lost: new Set(), formers })
  for (let at = 0; at < due.length; ) {
    const batch = await nextBatch(due.slice(at, at + MOST_ENTRIES), formers, world)
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

export const noCounts = (): Counts => ({
  turns: 0,
  stored: 0,
  known: 0,
  refused: 0,
  excluded: 0,
  unreadable: 0,
  forgotten: 0,
  lost: 0,
  mended: 0,
})

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

const forgetting = (news: readonly Tombstone[], gone: readonly SentTurn[]): Forgetting => ({
  sessions: sessionsOf(news),
  ids: gone.map(({ id }) => id),
})

/** The sessions that are forgotten as a whole, and subagents. */
const sessionsOf = (news: readonly Tombstone[]): string[] =>
  news
    .filter((one) => !isNamedByPath(one))
    .flatMap(({ session, whole, agents }) =>
      whole ? [session] : agents.map((agent) => `${session}/${agent}`),
    )

const textsOf = (news: readonly Tombstone[]): Tombstone[] =>
  news.filter((one) => !isNamedByPath(one) && !one.whole && Object.keys(one.lines).length > 0)

interface DueTurn {
  /** With `ctx:`. */
  readonly handle: string
  readonly state: string
  /** Its own machine sends it by now. What this one has sent of it must not hold what was taken out since. */
  readonly isTheirs: boolean
}

interface Looked {
  readonly mayHold: MayHold
  /** Whether every turn is due. */
  readonly all: boolean
  /** Handles of what is missing there. */
  readonly lost: ReadonlySet<string>
  readonly formers: FormerVersions
}

function dueTurns(
  ledger: Ledger,
  { place, look, isTheirs }: SyncWorld,
  { mayHold, all, lost, formers }: Looked,
): DueTurn[] {
  return look((db) => {
    const { changed, watermark } = changesSince(db, all ? new Map() : ledger.watermark)
    const theirs = turnsIn(db, isTheirs ?? (() => false))
    const due = new Set(changed)
    for (const handle of lost) if (watermark.has(handle)) due.add(handle)
    for (const [handle, sent] of ledger.turns) {
      // A text that was forgotten in a tool's input does not show in the views.
      if (watermark.has(handle) && mayHold(sent.session)) due.add(handle)
    }
    const embedder = installedModel(place.dataHome)?.embedder
    if (embedder !== undefined) {
      for (const handle of embeddedHandles(db, embedder))
        if (ledger.turns.get(handle)?.hasVector === false) due.add(handle)
    }
    const unnoted = formers.sessions
    const mayBeThere = (handle: string): boolean =>
      ledger.turns.has(handle) || (unnoted.size > 0 && unnoted.has(turnByHandle(db, handle)?.session ?? ""))
    return [...due]
      .map((handle) => ({ handle, state: watermark.get(handle)!, isTheirs: theirs.has(handle) }))
      .filter(({ handle, isTheirs }) => !isTheirs || mayBeThere(handle))
  })
}

/** Handles of the turns that only such copies hold. */
function turnsIn(db: Database, isTheirs: (copy: string) => boolean): Set<string> {
  const copies = allCopies(db).map(({ copy }) => copy)
  return turnsOnlyIn(db, copies.filter(isTheirs))
}

interface Batch {
  readonly entries: Entry[]
  /** Of former versions, which hold what must not be kept. */
  readonly outdated: string[]
  readonly sent: SentTurn[]
  excluded: number
  unreadable: number
  /** Turns with a text that another machine has taken out. */
  withheld: number
  /** Number of turns looked at. */
  looked: number
}

async function nextBatch(due: readonly DueTurn[], formers: FormerVersions, world: SyncWorld): Promise<Batch> {
  const { place, look, fillerFor } = world
  const counted = { excluded: 0, unreadable: 0, withheld: 0, looked: 0 }
  const batch: Batch = { entries: [], outdated: [], sent: [], ...counted }
  const embedder = installedModel(place.dataHome)?.embedder
  let length = 0
  const take = (maker: EntryMaker, { handle, state, isTheirs }: DueTurn): void => {
    const made = maker.entryOf(handle)
    if (made === undefined) return
    if ("leftOut" in made) {
      formers.unseen(made.session)
      if (!isTheirs) batch[made.leftOut]++
    } else if (made.isWithheld) {
      batch.outdated.push(...formers.allOf(handle, made.entry))
      if (!isTheirs) batch.withheld++
    } else if (isTheirs) batch.outdated.push(...formers.staleOf(handle, made.entry))
    else {
      const { id, key, content, metadata, vector } = made.entry
      const { sessionId: session, messages } = metadata
      batch.outdated.push(...formers.outdatedBy(handle, made.entry))
      batch.entries.push(made.entry)
      batch.sent.push({ handle, state, id, key, session, messages, hasVector: vector !== undefined })
      length += content.length
    }
  }
  const isFull = (): boolean => batch.looked >= due.length || length >= MOST_TEXT
  while (!isFull()) {
    look((db) => {
      using maker = new EntryMaker(db, place, embedder, fillerFor)
      // As they were at one moment, whatever others write meanwhile.
      db.transaction(() => {
        for (let n = 0; n < AT_ONCE && !isFull(); n++) take(maker, due[batch.looked++]!)
      })()
    })
    // Lets what is on its way go on.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return batch
}
