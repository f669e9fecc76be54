/**
 * How much likelier something is needed than its kind usually is: a share of uses among what was shown, drawn towards
 * what is usual (prior-rates.ts) as if that had been seen some times already. Pure.
 *
 * A cell is drawn towards the usual, an item towards its cell; the weight is the share divided by the usual. So without
 * evidence it is 1, a little evidence changes little, and anyone can do the sum again from the table.
 */
import type { LearnedRow } from "../archive/queries/learned.ts"
import { LEAST_WEIGHT, MOST_WEIGHT } from "../restore/project-weights.ts"
import { priorRate } from "./prior-rates.ts"
import type { Trial } from "./trials.ts"

/** As how many trials the usual share counts for a cell, and the cell's share for an item. */
const USUAL = 20
const OF_CELL = 3
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

export function weightsOf(trials: readonly Trial[]): LearnedRow[] {
  const cells = new Map<string, Counts>()
  const items = new Map<string, Counts>()
  for (const trial of trials) {
    const { kind, cell, text } = trial
    count(cells, `${kind}\0${cell}`, { kind, cell, item: "" }, trial)
    // An item's cell changes as it is used; that of the latest trial counts.
    count(items, `${kind}\0${text}`, { kind, cell, item: text }, trial)
  }
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

function count(
  all: Map<string, Counts>,
  key: string,
  about: Omit<Counts, "shown" | "used">,
  { shown, used, found }: Trial,
): void {
  const known = all.get(key)
  all.set(key, {
    ...about,
    shown: (known?.shown ?? 0) + 1,
    // What was left out and had to be found was needed as well.
    used: (known?.used ?? 0) + (used || (found && !shown) ? 1 : 0),
  })
}

const usual = ({ kind, cell }: Pick<Counts, "kind" | "cell">): number => priorRate(kind, cell)

/** The mean of a Beta distribution: `strength` earlier trials with the share `before`, and those counted. */
const shareOf = ({ shown, used }: Counts, before: number, strength: number): number =>
  (strength * before + used) / (strength + shown)

const bounded = (weight: number): number => Math.min(MOST_WEIGHT, Math.max(LEAST_WEIGHT, weight))
