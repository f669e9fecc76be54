/**
 * Which turns are cold: out of the index of words and out of the vectors, but still in the vault, and found there
 * (docs/hot-and-cold.md). It follows from time, uses and two options alone, so views made anew from the vault have the
 * same turns cold. Pure.
 */
import { confidence } from "./confidence.ts"
import { importance } from "./importance.ts"

/** What decides about one turn. */
export interface Aged {
  readonly turn: number
  /** Names it in any views of the same vault. */
  readonly handle: string
  /** When it ended, in ms since 1970, as all times here. Undefined: nobody knows, so it stays hot. */
  readonly born: number | undefined
  /** What the model asked to keep with `remember`: it stays hot. */
  readonly isNote: boolean
  /** Whether it holds the summary of a compaction. */
  readonly hasSummary: boolean
  /** Of its lines in the transcript. */
  readonly bytes: number
  readonly hasTools: boolean
  readonly hasFiles: boolean
  /** When it was used. */
  readonly uses: readonly number[]
}

export interface TierLimits {
  /** Days after which a turn that was never used is cold; 0: never, by age. */
  readonly retention: number
  /** Bytes of transcripts that stay hot; 0: all of them. */
  readonly maxSize: number
}

interface Cold {
  /** Older than the retention. */
  readonly byAge: ReadonlySet<number>
  /** Beyond the size that stays hot. */
  readonly bySize: ReadonlySet<number>
}

/** At or below it, a turn that was never used may make room for others: 130 hours after it ended. */
const DOUBTFUL = 0.15
/** Decay by the hour does not add up to exactly 0.15. */
const ROUNDING = 1e-9

const DAY = 86_400_000

/** Whether a turn may make room for others. */
export const mayGo = (one: Aged, now: number): boolean => isUnused(one) && isDoubtful(one, now)

export function coldOf(turns: readonly Aged[], { retention, maxSize }: TierLimits, now: number): Cold {
  const byAge = new Set<number>()
  const bySize = new Set<number>()
  if (retention > 0) {
    for (const one of turns) if (isUnused(one) && now - one.born > retention * DAY) byAge.add(one.turn)
  }
  if (maxSize > 0) {
    const hot = turns.filter(({ turn }) => !byAge.has(turn))
    let left = hot.reduce((sum, { bytes }) => sum + bytes, 0)
    const candidates = left > maxSize ? leastFirst(hot, now) : []
    for (const { turn, bytes } of candidates) {
      if (left <= maxSize) break
      bySize.add(turn)
      left -= bytes
    }
  }
  return { byAge, bySize }
}

/** Those that may make room, the least important first and the older first among equals. */
function leastFirst(turns: readonly Aged[], now: number): Aged[] {
  return turns
    .filter((one): one is Unused => mayGo(one, now))
    .map((one) => ({ one, weight: importance({ ...one, uses: 0 }, now) }))
    .sort((a, b) => a.weight - b.weight || a.one.born - b.one.born || (a.one.handle < b.one.handle ? -1 : 1))
    .map(({ one }) => one)
}

type Unused = Aged & { readonly born: number }

const isUnused = (one: Aged): one is Unused => one.uses.length === 0 && one.born !== undefined && !one.isNote

const isDoubtful = ({ born, uses, hasSummary }: Unused, now: number): boolean =>
  confidence(born, uses, now, hasSummary) <= DOUBTFUL + ROUNDING
