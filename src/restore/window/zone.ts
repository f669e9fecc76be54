/** How close Claude Code's next compaction is, and how many turns remain. Pure. */

/** `warning` from `warn` on, `critical` from `critical` on; both are shares of the compaction point. */
export type Zone = "ok" | "warning" | "critical"

export interface Thresholds {
  readonly warn: number
  readonly critical: number
}

/** @param pressure tokens as a share of the compaction point */
export function zoneOf(pressure: number, { warn, critical }: Thresholds): Zone {
  if (pressure >= critical) return "critical"
  return pressure >= warn ? "warning" : "ok"
}

/** Whether a zone is worth a word to whoever was last told of `told`: each is told once, and only upwards. */
export const isNews = (zone: Zone, told: Zone = "ok"): boolean =>
  zone !== "ok" && zone !== told && told !== "critical"

const RECENT = 5

/**
 * Tokens that recent turns add on average.
 *
 * @param readings tokens at the end of each turn since the last compaction, oldest first
 * @returns undefined with fewer than two turns, or when the context does not grow
 */
export function trendOf(readings: readonly number[]): number | undefined {
  const recent = readings.slice(-RECENT - 1)
  const first = recent[0]
  const last = recent.at(-1)
  if (first === undefined || last === undefined || recent.length < 2 || last <= first) return undefined
  return Math.round((last - first) / (recent.length - 1))
}

/** Whole turns until `limit` is reached; 0: now. Undefined when unknown. */
export function runwayOf(tokens: number, limit: number, trend: number | undefined): number | undefined {
  if (tokens >= limit) return 0
  return trend === undefined ? undefined : Math.floor((limit - tokens) / trend)
}

/* Counts tokens of texts, and formats counts for people. Pure. */

/** The design documents' assumption for when Claude Code reports no count. */
const CHARS_PER_TOKEN = 3.5

export const tokensOfText = (chars: number): number => Math.round(chars / CHARS_PER_TOKEN)

/** Characters of a text that makes so many tokens. */
export const charsOf = (tokens: number): number => tokens * CHARS_PER_TOKEN

/** `86736` → `86.7K`, as in the report. */
export function formatTokens(tokens: number): string {
  if (tokens < 1000) return String(tokens)
  return tokens < 999_950 ? `${(tokens / 1000).toFixed(1)}K` : `${(tokens / 1_000_000).toFixed(2)}M`
}

/** `86736` → `86.7K`, `144000` → `144K`: at most five columns. */
export function shortTokens(tokens: number): string {
  if (tokens < 1000) return String(tokens)
  if (tokens < 99_950) return `${(tokens / 1000).toFixed(1)}K`
  if (tokens < 999_500) return `${Math.round(tokens / 1000)}K`
  if (tokens < 99_950_000) return `${(tokens / 1_000_000).toFixed(1)}M`
  if (tokens < 999_500_000) return `${Math.round(tokens / 1_000_000)}M`
  return `${(tokens / 1_000_000_000).toFixed(1)}B`
}
