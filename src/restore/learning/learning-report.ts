/** How often what restores show is used, and what showing it is worth. */
import type { Database } from "../../views/database.ts"
import { hasDisplays, sessionsToFollow, triedRestores, useCounts } from "../../views/queries/fact-uses.ts"
import { SLOT_KINDS, type SlotKind } from "../slots.ts"
import { type Trial, trialsOf } from "./note-uses.ts"

export interface LearningReport {
  /** Those that arrived and were followed by work. */
  readonly restores: number
  readonly sessions: number
  /** Of what was shown, without what the context had anyway. */
  readonly kinds: Readonly<Record<SlotKind, Share>>
  readonly all: Share
  /** Null if nothing was ever left out by chance. */
  readonly lift: Lift | null
  /** Evidence for turns, from restores and answers: by kind, how often. */
  readonly uses: Readonly<Record<string, number>>
  /** Sessions that the background job has still to look at. */
  readonly waiting: number
}

/** @param project undefined: all projects */
export function learningReport(db: Database, project: number | undefined): LearningReport {
  const tried = triedRestores(db, project)
  const restores = tried.map((one) => trialsOf(one))
  const shown = restores.flat().filter((trial) => trial.shown)
  const kinds = SLOT_KINDS.map((kind) => [kind, shareIn(shown.filter((trial) => trial.kind === kind))])
  const waiting = sessionsToFollow(db).filter(
    (one) => (project === undefined || one.project === project) && hasDisplays(db, one.session),
  )
  return {
    restores: tried.length,
    sessions: new Set(tried.map(({ session }) => session)).size,
    kinds: Object.fromEntries(kinds) as LearningReport["kinds"],
    all: shareIn(shown),
    lift: liftOf(restores) ?? null,
    uses: useCounts(db, project),
    waiting: waiting.length,
  }
}

/*
 * What showing something is worth: how much more often what was shown is used than what was left out by chance. Pure.
 *
 * Both are counted alike: used before anything else had shown it. Chance decides within each restore, so whatever else
 * sets sessions apart does so on both sides. The interval is Newcombe's hybrid score interval for the difference of two
 * shares (1998, method 10), made of Wilson's intervals of both. It takes slots as independent; where some restores are
 * used more than others, on both sides alike, it is wider than it need be.
 */

export interface Share {
  readonly n: number
  /** Of these. */
  readonly used: number
  /** Of the others, how many the model used after it had found them elsewhere. */
  readonly found: number
}

export interface Lift {
  readonly shown: Share
  readonly leftOut: Share
  /** Difference of the shares used, from -1 to 1. */
  readonly lift: number
  /** In 95 of 100 such experiments, the interval holds the true difference. */
  readonly interval: readonly [least: number, most: number]
  /** Whether there is enough to say so. */
  readonly isTelling: boolean
}

/** Fewer slots left out, or in fewer restores, tell nothing. */
export const LEAST_LEFT_OUT = 20
export const LEAST_RESTORES = 5

const Z95 = 1.959964

const shareIn = (trials: readonly Trial[]): Share => ({
  n: trials.length,
  used: trials.filter(({ used }) => used).length,
  found: trials.filter(({ found }) => found).length,
})

/**
 * @param restores the trials of each; those in which nothing was left out do not count
 * @returns undefined if nothing was left out
 */
export function liftOf(restores: readonly (readonly Trial[])[]): Lift | undefined {
  const tried = restores.filter((trials) => trials.some(({ shown }) => !shown))
  const all = tried.flat()
  const shown = shareIn(all.filter((trial) => trial.shown))
  const leftOut = shareIn(all.filter((trial) => !trial.shown))
  if (shown.n === 0 || leftOut.n === 0) return undefined
  return {
    shown,
    leftOut,
    lift: shown.used / shown.n - leftOut.used / leftOut.n,
    interval: newcombe(shown, leftOut),
    isTelling: leftOut.n >= LEAST_LEFT_OUT && tried.length >= LEAST_RESTORES,
  }
}

type Counted = Pick<Share, "n" | "used">

function newcombe(a: Counted, b: Counted): [number, number] {
  const [p, q] = [a.used / a.n, b.used / b.n]
  const [[pLeast, pMost], [qLeast, qMost]] = [wilson(a), wilson(b)]
  return [p - q - Math.hypot(p - pLeast, qMost - q), p - q + Math.hypot(pMost - p, q - qLeast)]
}

/** Wilson's score interval of a share. */
export function wilson({ n, used }: Counted): [least: number, most: number] {
  const p = used / n
  const z2 = Z95 ** 2
  const middle = (p + z2 / (2 * n)) / (1 + z2 / n)
  const half = (Z95 / (1 + z2 / n)) * Math.sqrt((p * (1 - p)) / n + z2 / (4 * n * n))
  return [Math.max(0, middle - half), Math.min(1, middle + half)]
}
