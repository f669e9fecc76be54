/**
 * Limits how long a search for secrets may take: until a moment, when somebody waits, and always by the CPU time that it
 * uses. It stops within a line, and what it was searching must then be discarded. A text can be crafted, or be such by
 * chance, that a search takes a thousand times as long as usual.
 */

// One set of variables suffices: searches do not interrupt each other.

/** In ms of performance.now(). */
let end = Number.POSITIVE_INFINITY
/** In ms of CPU time of this process. */
let spent = Number.POSITIVE_INFINITY
let candidates = 0

/** How many candidates pass between two checks of the clock. */
const BETWEEN = 0xff

/** Thrown when time is up. */
const LATE = Symbol("late")

/** Call this at every candidate. */
export function tick(): void {
  if ((++candidates & BETWEEN) === 0) look()
}

/** Call this before work that takes as long as many candidates. */
export function look(): void {
  if (end < Number.POSITIVE_INFINITY && performance.now() >= end) throw LATE
  if (spent < Number.POSITIVE_INFINITY && cpuTime() >= spent) throw LATE
}

/** CPU time, because on a busy machine every search takes long. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export interface Limits {
  /** In ms of performance.now(); undefined: nobody waits. */
  readonly until: number | undefined
  /** ms of CPU time. */
  readonly cpu: number
}

/** @returns undefined when the search did not finish in time */
export function searchWithin<T>({ until, cpu }: Limits, search: () => T): T | undefined {
  end = until ?? Number.POSITIVE_INFINITY
  spent = cpuTime() + cpu
  try {
    look()
    return search()
  } catch (error) {
    if (error === LATE) return undefined
    throw error
  } finally {
    end = Number.POSITIVE_INFINITY
    spent = Number.POSITIVE_INFINITY
  }
}
