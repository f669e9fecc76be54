/**
 * Keeps up with what is used of what was shown again, for all sessions that have grown. In the background job: it reads
 * whole transcripts from the vault. Everything that it writes can be made anew from there.
 */

import { isMissing } from "../../base/errors.ts"
import type { TranscriptRecord } from "../../record/types.ts"
import { vaultFile } from "../../vault/layout.ts"
import type { Database } from "../../views/database.ts"
import {
  type GrownSession,
  hasDisplays,
  type LearnedRow,
  sessionsToFollow,
  setFollowed,
  setLearned,
  type TriedRestore,
  triedRestores,
  turnsByHandle,
} from "../../views/queries/fact-uses.ts"
import { type SlotRow, slotsGiven } from "../../views/queries/restores.ts"
import { recordsFrom } from "../../views/records.ts"
import { currentTranscript } from "../../views/transcript-rows.ts"
import { LEAST_WEIGHT, MOST_WEIGHT } from "../project-weights.ts"
import type { SlotKind } from "../slots.ts"
import { type Followed, type FollowedRestore, followUses, isSlotKind } from "./follow-uses.ts"

interface Noted {
  /** How many sessions were read. */
  readonly sessions: number
  readonly uses: number
  /** How many restores of theirs are known to have been shown. */
  readonly restores: number
}

interface NoteOptions {
  /** When to leave the rest for the next time, in ms of performance.now(). */
  readonly end?: number
  /** Called before each session that is read; throws when it is time to stop. */
  readonly goOn?: () => void
}

export function noteUses(db: Database, dataHome: string, options: NoteOptions = {}): Noted {
  const { end = Number.POSITIVE_INFINITY, goOn } = options
  const noted = { sessions: 0, uses: 0, restores: 0 }
  const projects = new Set<number>()
  const all = Map.groupBy(sessionsToFollow(db), ({ session }) => hasDisplays(db, session))
  // Most sessions, and one transaction for all of them.
  db.transaction(() => {
    for (const grown of all.get(false) ?? []) setFollowed(db, grown, [], [])
  }).immediate()
  for (const grown of all.get(true) ?? []) {
    goOn?.()
    if (performance.now() >= end) break
    const found = follow(db, dataHome, grown)
    db.transaction(() => setFollowed(db, grown, found.uses, found.outcomes)).immediate()
    if (found.outcomes.length > 0 && grown.project !== null) projects.add(grown.project)
    noted.sessions++
    noted.uses += found.uses.length
    noted.restores += found.outcomes.length
  }
  for (const project of projects) learnProject(db, project)
  return noted
}

function follow(db: Database, dataHome: string, { session }: GrownSession) {
  const rows = new Map<FollowedRestore, SlotRow>(
    slotsGiven(db, session).map((row) => [restoreOfRow(row), row]),
  )
  const { uses, outcomes } = followUses(recordsOf(db, dataHome, session), [...rows.keys()])
  return {
    uses: usesWithTurns(db, session, uses),
    outcomes: [...outcomes].map(([restore, letters]) => ({ ...rows.get(restore)!, letters })),
  }
}

function restoreOfRow({ text, items }: SlotRow): FollowedRestore {
  const slots = items.flatMap(([kind, words, handle, , shown]) =>
    isSlotKind(kind) ? [{ kind, text: words, handle, shown: shown === 1 }] : [],
  )
  return { text, slots }
}

function* recordsOf(db: Database, dataHome: string, session: string): Generator<TranscriptRecord> {
  const row = currentTranscript(db, session)
  if (row === undefined) return
  try {
    for (const { record } of recordsFrom(vaultFile(dataHome, row.copy))) yield record
  } catch (error) {
    // Forgotten meanwhile.
    if (!isMissing(error)) throw error
  }
}

function usesWithTurns(db: Database, session: string, uses: Followed["uses"]) {
  const turns = turnsByHandle(
    db,
    uses.map(({ handle }) => handle),
  )
  return uses.flatMap(({ handle, kind, time }) => {
    const turn = turns.get(handle)
    return turn === undefined ? [] : [{ turn, session, kind, time }]
  })
}

/* Learns what a project's restores should show first, and writes it where restores look (restore/project-weights.ts). */

export function learnProject(db: Database, project: number): void {
  db.transaction(() => {
    const trials = triedRestores(db, project).flatMap((restore) => trialsOf(restore))
    setLearned(db, project, weightsOf(trials))
  }).immediate()
}

/*
 * How much likelier something is needed than others of its kind: a share of uses among what was shown, drawn towards
 * what is usual (note-uses.ts) as if that had been seen some times already. Pure.
 *
 * What is usual counts relative to how much of the kind is used in the project at all, since only the order within a
 * kind changes. A cell is drawn towards that, an item towards its cell; the weight is the share divided by the usual.
 * So without evidence it is 1, a little evidence changes little, and anyone can do the sum again from the table.
 *
 * A cell stands for what was never shown before, so only the first time of each item counts for it: else a cell would
 * rise with the few items that were learnt to be needed, and all others in it with them.
 */

/**
 * As how many trials the usual share counts for a cell. That many, because what makes a cell decides ranks already, and
 * what little it tells besides takes long to show (docs/measurements/restore.md).
 */
const USUAL = 400
/** The same for the cell's share and an item. */
const OF_CELL = 3
/** As how many uses the usual counts when a project's own level is found. */
const LEVEL = 5
/** No share is thought to be higher before it was seen. */
const MOST_USUAL = 0.8
/** Items whose weight differs less from their cell's have no row of their own. */
const TELLING = 1.1
/** At most so many items, those of which most is known. */
const MOST_ITEMS = 300

interface Counts {
  readonly kind: Trial["kind"]
  readonly cell: string
  readonly item: string
  shown: number
  used: number
}

/** @param trials oldest first */
export function weightsOf(trials: readonly Trial[]): LearnedRow[] {
  const cells = new Map<string, Counts>()
  const items = new Map<string, Counts>()
  const first: Trial[] = []
  for (const trial of trials) {
    const { kind, cell, text } = trial
    const known = items.get(`${kind}\0${text}`)
    if (known === undefined) {
      first.push(trial)
      count(cells, `${kind}\0${cell}`, { kind, cell, item: "" }, trial)
    }
    count(items, `${kind}\0${text}`, { kind, cell: known?.cell ?? cell, item: text }, trial)
  }
  const usual = usualIn(first)
  const shares = new Map([...cells].map(([key, counts]) => [key, shareOf(counts, usual(counts), USUAL)]))
  const rows = [...cells].map(([key, counts]) => ({
    ...counts,
    weight: bounded(shares.get(key)! / usual(counts)),
  }))
  const telling = [...items.values()]
    .sort((a, b) => b.shown - a.shown || (a.item < b.item ? -1 : 1))
    .flatMap((counts) => {
      const ofCell = shares.get(`${counts.kind}\0${counts.cell}`)!
      const weight = bounded(shareOf(counts, ofCell, OF_CELL) / usual(counts))
      const ratio = weight / bounded(ofCell / usual(counts))
      return Math.max(ratio, 1 / ratio) < TELLING ? [] : [{ ...counts, weight }]
    })
  return [...rows, ...telling.slice(0, MOST_ITEMS)]
}

type Usual = (counts: Pick<Counts, "kind" | "cell">) => number

/** What is usual elsewhere, at the level of this project. */
function usualIn(trials: readonly Trial[]): Usual {
  const levels = new Map<Trial["kind"], number>()
  for (const [kind, all] of Map.groupBy(trials, (trial) => trial.kind)) {
    const expected = all.reduce((sum, { cell }) => sum + priorRate(kind, cell), 0)
    levels.set(kind, (LEVEL + all.filter(isNeeded).length) / (LEVEL + expected))
  }
  return ({ kind, cell }) => Math.min(MOST_USUAL, priorRate(kind, cell) * levels.get(kind)!)
}

/** What was left out and had to be found was needed as well. */
const isNeeded = ({ shown, used, found }: Trial): boolean => used || (found && !shown)

function count(
  all: Map<string, Counts>,
  key: string,
  about: Omit<Counts, "shown" | "used">,
  trial: Trial,
): void {
  const known = all.get(key)
  all.set(key, {
    ...about,
    shown: (known?.shown ?? 0) + 1,
    used: (known?.used ?? 0) + (isNeeded(trial) ? 1 : 0),
  })
}

/** The mean of a Beta distribution: `strength` earlier trials with the share `before`, and those counted. */
const shareOf = ({ shown, used }: Counts, before: number, strength: number): number =>
  (strength * before + used) / (strength + shown)

const bounded = (weight: number): number => Math.min(MOST_WEIGHT, Math.max(LEAST_WEIGHT, weight))

/*
 * How often what restores show is usually needed within three turns, by kind and cell: 2,920 slots of restores at 27
 * compactions of 24 sessions of one project. A cell's share is drawn towards its kind's as if 20 more slots had had
 * that one. docs/measurements/restore.md says what it predicts. Pure.
 */

const BY_KIND: Readonly<Record<SlotKind, number>> = { path: 0.043, command: 0.124, name: 0.144 }

/** Where at least 20 slots were seen. */
const BY_CELL: Readonly<Record<SlotKind, Readonly<Record<string, number>>>> = {
  path: {
    "seen, once, new": 0.024,
    "seen, once, old": 0.033,
    "seen, some, new": 0.063,
    "used, once, new": 0.064,
    "used, once, old": 0.019,
    "used, some, new": 0.054,
    "used, some, old": 0.017,
  },
  command: {
    "common, once, old": 0.048,
    "run, once, new": 0.065,
    "run, once, old": 0.094,
    "run, some, new": 0.228,
  },
  name: {
    "seen, once, new": 0.087,
    "seen, some, new": 0.133,
    "used, often, new": 0.24,
    "used, often, old": 0.081,
    "used, once, new": 0.175,
    "used, once, old": 0.035,
    "used, some, new": 0.176,
    "used, some, old": 0.074,
  },
}

const priorRate = (kind: SlotKind, cell: string): number => BY_CELL[kind][cell] ?? BY_KIND[kind]

/* What became of each slot of a restore. Pure. */

export interface Trial {
  readonly kind: SlotKind
  readonly text: string
  readonly cell: string
  /** false: left out by chance. */
  readonly shown: boolean
  /** Before anything else had shown it. */
  readonly used: boolean
  /** Only after something else had: it had to be found. */
  readonly found: boolean
}

/** Without what the context had anyway. */
export function trialsOf({ items, letters }: Pick<TriedRestore, "items" | "letters">): Trial[] {
  return items.flatMap(([kind, text, , cell, shown], n) => {
    const letter = letters[n]
    if (!isSlotKind(kind) || letter === undefined || letter === "h") return []
    return [{ kind, text, cell, shown: shown === 1, used: letter === "u", found: letter === "f" }]
  })
}
