/**
 * How much there is to lose in a turn, to say which of them leave the index first. The formula is that of the design
 * documents (ADR-051, restoring by importance). Pure.
 */

/** Days after which a turn counts half. */
const HALF_LIFE = 7
const DAY = 86_400_000

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
