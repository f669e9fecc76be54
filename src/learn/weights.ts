/**
 * How much likelier something is needed than others of its kind: a share of uses among what was shown, drawn towards
 * what is usual (prior-rates.ts) as if that had been seen some times already. Pure.
 *
 * What is usual counts relative to how much of the kind is used in the project at all, since only the order within a
 * kind changes. A cell is drawn towards that, an item towards its cell; the weight is the share divided by the usual.
 * So without evidence it is 1, a little evidence changes little, and anyone can do the sum again from the table.
 *
 * A cell stands for what was never shown before, so only the first time of each item counts for it: else a cell would
 * rise with the few items that were learnt to be needed, and all others in it with them.
 */
import type { LearnedRow } from "../archive/queries/learned.ts"
import { LEAST_WEIGHT, MOST_WEIGHT } from "../restore/project-weights.ts"
import { priorRate } from "./prior-rates.ts"
import type { Trial } from "./trials.ts"

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
