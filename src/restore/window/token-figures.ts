/** Counts tokens of texts, and formats counts for people. Pure. */

/** The design documents' assumption for when the host reports no count. */
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
  return tokens < 99_950_000 ? `${(tokens / 1_000_000).toFixed(1)}M` : `${Math.round(tokens / 1_000_000)}M`
}
