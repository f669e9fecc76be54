/**
 * Limits how long the search for secrets may take when someone is waiting. It stops within a line, and what it was
 * searching must then be discarded. A text can be crafted so that a megabyte of it takes a second.
 */

/** In ms of performance.now(). One variable suffices: searches do not interrupt each other. */
let end = Number.POSITIVE_INFINITY
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
}

/**
 * @param until in ms of performance.now()
 * @returns undefined when the search did not finish by then
 */
export function searchUntil<T>(until: number, search: () => T): T | undefined {
  end = until
  try {
    return search()
  } catch (error) {
    if (error === LATE) return undefined
    throw error
  } finally {
    end = Number.POSITIVE_INFINITY
  }
}
