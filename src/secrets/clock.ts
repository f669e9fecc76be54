/**
 * Limits how long a search for secrets may take: until a moment, when somebody waits, and always by the CPU time that it
 * uses. It stops within a line, and what it was searching must then be discarded. A text can be crafted, or be such by
 * chance, that a search takes a thousand times as long as usual.
 */

// One set of variables suffices: searches do not interrupt each other.

/** In ms of performance.now(). */
let end = Number.POSITIVE_INFINITY
/** ms of CPU time that may still be used when the process is first asked for it. */
let left = Number.POSITIVE_INFINITY
/** In ms of CPU time of this process; infinite until it is first asked for. */
let spent = Number.POSITIVE_INFINITY
/** When to ask next, in ms of performance.now(): asking takes longer than most searches. */
let asksAt = Number.POSITIVE_INFINITY
let candidates = 0

/** How many candidates pass between two checks of the clock. */
const BETWEEN = 0xff
/** ms between two questions about CPU time. */
const PAUSE = 10

/** Thrown when time is up. */
const LATE = Symbol("late")

/** Call this at every candidate. */
export function tick(): void {
  if ((++candidates & BETWEEN) === 0) look()
}

/** Call this before work that takes as long as many candidates. */
export function look(): void {
  const now = performance.now()
  if (now >= end) throw LATE
  if (now < asksAt) return
  asksAt = now + PAUSE
  const used = cpuTime()
  if (spent === Number.POSITIVE_INFINITY) spent = used + left
  else if (used >= spent) throw LATE
}

/** CPU time, because on a busy machine every search takes long. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export interface Limits {
  /** In ms of performance.now(); undefined: nobody waits. */
  readonly until: number | undefined
  /** ms of CPU time, counted from about 10 ms after the beginning. */
  readonly cpu: number
}

/** @returns undefined when the search did not finish in time */
export function searchWithin<T>({ until, cpu }: Limits, search: () => T): T | undefined {
  if (cpu <= 0) return undefined
  end = until ?? Number.POSITIVE_INFINITY
  left = cpu
  asksAt = performance.now() + PAUSE
  try {
    look()
    return search()
  } catch (error) {
    if (error === LATE) return undefined
    throw error
  } finally {
    end = Number.POSITIVE_INFINITY
    spent = Number.POSITIVE_INFINITY
    asksAt = Number.POSITIVE_INFINITY
  }
}
