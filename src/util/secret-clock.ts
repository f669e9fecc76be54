/**
 * How long the search for secrets may take where somebody waits for it: then it ends within a line, and nothing that it
 * was looking through may be kept. A text can be made so that a megabyte of it takes a second.
 */

/** ms of performance.now(). One for all: no search is interrupted by another. */
let end = Number.POSITIVE_INFINITY
let candidates = 0

/** Candidates between two looks at the clock. */
const BETWEEN = 0xff

/** What is thrown. */
const LATE = Symbol("late")

/** To be called at each candidate. */
export function tick(): void {
  if ((++candidates & BETWEEN) === 0) look()
}

/** To be called before what takes as long as many candidates. */
export function look(): void {
  if (end < Number.POSITIVE_INFINITY && performance.now() >= end) throw LATE
}

/**
 * @param until ms of performance.now()
 * @returns undefined when the search was not done by then
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
