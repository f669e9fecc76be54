/**
 * The abilities that we use, and the host versions that have them. Versions in between were not tried, and count as the
 * one before (docs/hooks.md).
 */

/** The oldest version that was tried. */
export const OLDEST_TRIED = "2.0.76"

const ABILITIES: readonly (readonly [from: string, ability: string])[] = [
  [OLDEST_TRIED, "the six hooks"],
  ["2.1.112", "the summary before a restore"],
  ["2.1.112", "hook context kept over a resume"],
  ["2.1.112", "subagents in the session's folder"],
  ["2.1.329", "fork and /clear told apart in print mode"],
  ["2.1.329", "compactions answered by plugins"],
]

export const isTried = (version: string): boolean => Bun.semver.order(version, OLDEST_TRIED) >= 0

export const abilitiesOf = (version: string): string[] =>
  ABILITIES.filter(([from]) => Bun.semver.order(version, from) >= 0).map(([, ability]) => ability)

/** Abilities that only later versions have. */
export const lackingIn = (version: string): string[] =>
  ABILITIES.filter(([from]) => Bun.semver.order(version, from) < 0).map(([, ability]) => ability)
