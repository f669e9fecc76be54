/**
 * Which turns are cold: out of the index of words and out of the vectors, but still in the vault, and found there
 * (docs/hot-and-cold.md). It follows from time, uses and two options alone, so views made anew from the vault have the
 * same turns cold. Pure.
 */
import { DAY, HOUR } from "../../base/local-time.ts"

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

/**
 * How sure it is that a turn will be needed again: it falls by the hour and rises with each use. The formula is that of
 * the design documents (ADR-051, stage 1 of the learning cycle and its restores), by hours that have really passed.
 * Nothing is stored, so nothing has to be updated. Pure.
 */

const BIRTH = 0.8
/** Of a turn in which Claude Code summed up all that came before. */
const BIRTH_WITH_SUMMARY = 1
const FLOOR = 0.1
/** For each hour. */
const DECAY = 0.005
/** For each use, up to 1. */
const CREDIT = 0.03

/**
 * `max(0.1, c − 0.005 · hours)` from one use to the next, and `min(1, c + 0.03)` at each of them.
 *
 * @param born when the turn ended, in ms since 1970, as all times here
 * @param uses when it was used; what is before `born` or after `now` does not count
 * @param hasSummary whether the turn holds the summary of a compaction
 */
export function confidence(born: number, uses: readonly number[], now: number, hasSummary = false): number {
  let value = hasSummary ? BIRTH_WITH_SUMMARY : BIRTH
  let since = born
  for (const time of uses.filter((one) => one >= born && one <= now).sort((a, b) => a - b)) {
    value = Math.min(1, decayed(value, time - since) + CREDIT)
    since = time
  }
  return decayed(value, now - since)
}

/** Of turns whose age is known. */
export interface Confidences {
  /** null if there are none. */
  readonly mean: number | null
  /** Number of turns below 0.3. */
  readonly low: number
}

const LOW = 0.3

export function confidences(turns: readonly Aged[], now: number): Confidences {
  const known = turns.flatMap(({ born, uses, hasSummary }) =>
    born === undefined ? [] : [confidence(born, uses, now, hasSummary)],
  )
  const sum = known.reduce((total, one) => total + one, 0)
  return {
    mean: known.length === 0 ? null : Math.round((sum / known.length) * 10_000) / 10_000,
    low: known.filter((one) => one < LOW).length,
  }
}

/** A clock that was set back makes nothing younger than new. */
const decayed = (value: number, ms: number): number =>
  Math.max(FLOOR, value - (DECAY * Math.max(0, ms)) / HOUR)

/*
 * How much there is to lose in a turn, to say which of them leave the index first. The formula is that of the design
 * documents (ADR-051, restoring by importance). Pure.
 */

/** Days after which a turn counts half. */
const HALF_LIFE = 7

interface Weighed {
  /** When it ended, in ms since 1970. */
  readonly born: number
  /** How often it was used. */
  readonly uses: number
  readonly hasTools: boolean
  readonly hasFiles: boolean
}

/** `2^(−days / 7) · (log2(uses + 1) + 1) · (1 + 0.5 if it has tools + 0.3 if it has files)` */
export function importance({ born, uses, hasTools, hasFiles }: Weighed, now: number): number {
  const recency = 2 ** (-Math.max(0, now - born) / DAY / HALF_LIFE)
  const richness = 1 + (hasTools ? 0.5 : 0) + (hasFiles ? 0.3 : 0)
  return recency * (Math.log2(uses + 1) + 1) * richness
}
