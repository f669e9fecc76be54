/**
 * Keeps as many turns hot as the options allow: takes the others out of the index, and puts back those that were used or
 * for which there is room again. Whenever it runs, the result is the same as if it had run all the time.
 */

import type { Config } from "../../config/options.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { chill, warm } from "../../views/cold-turns.ts"
import type { Database } from "../../views/database.ts"
import { archivedSize, hasCold } from "../../views/queries/turns.ts"
import { type KnownTurn, knownTurns } from "./reopened.ts"
import { coldOf, type TierLimits } from "./tiers.ts"

export interface TierPlan {
  /** Turns that become cold, by age and by size. */
  readonly byAge: readonly number[]
  readonly bySize: readonly number[]
  /** Turns that become hot again. */
  readonly back: readonly number[]
  /** Turns that are cold afterwards. */
  readonly cold: number
  /** Bytes of transcripts that are hot afterwards. */
  readonly hotBytes: number
}

/** How many turns are moved in one transaction: of a thousand messages each, a second. */
const STEP = 10

export const limitsIn = (config: Config): TierLimits => ({
  retention: config["archive.retention"],
  maxSize: config["archive.max_size"],
})

/** Whether anything can be cold, or is. Cheap enough to ask each time. */
const isTiered = (db: Database, { retention, maxSize }: TierLimits): boolean =>
  retention > 0 || (maxSize > 0 && archivedSize(db) > maxSize) || hasCold(db)

export function tierPlan(turns: readonly KnownTurn[], limits: TierLimits, now: number): TierPlan {
  const { byAge, bySize } = coldOf(turns, limits, now)
  const isWanted = ({ turn }: KnownTurn): boolean => byAge.has(turn) || bySize.has(turn)
  const hot = turns.filter((one) => !isWanted(one))
  const newly = (some: ReadonlySet<number>): number[] =>
    turns.filter(({ turn, isCold }) => !isCold && some.has(turn)).map(({ turn }) => turn)
  return {
    byAge: newly(byAge),
    bySize: newly(bySize),
    back: hot.filter(({ isCold }) => isCold).map(({ turn }) => turn),
    cold: byAge.size + bySize.size,
    hotBytes: hot.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

/**
 * Killing it at any moment leaves some turns to the next time.
 *
 * @param goOn called between two transactions; throws to end it
 * @returns how many turns stay cold because the vault cannot be read there
 */
export function applyTiers(
  db: Database,
  dataHome: string,
  { byAge, bySize, back }: TierPlan,
  goOn: (done: number, total: number) => void,
): number {
  const leaving = [...byAge, ...bySize]
  const total = leaving.length + back.length
  let done = 0
  let unreadable = 0
  using readers = new CopyReaders()
  const inSteps = (turns: readonly number[], move: (some: readonly number[]) => void): void => {
    for (let from = 0; from < turns.length; from += STEP) {
      goOn(done, total)
      const some = turns.slice(from, from + STEP)
      move(some)
      done += some.length
    }
  }
  inSteps(leaving, (some) => chill(db, some))
  inSteps(back, (some) => {
    unreadable += warm(db, dataHome, some, readers).length
  })
  return unreadable
}

/** Plans and does it. */
export function tend(
  db: Database,
  dataHome: string,
  limits: TierLimits,
  now: number,
  goOn: () => void,
): void {
  if (isTiered(db, limits)) applyTiers(db, dataHome, tierPlan(knownTurns(db), limits, now), goOn)
}
