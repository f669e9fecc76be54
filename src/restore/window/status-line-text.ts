/** The status line: `🛡️ 43% 86.7K ⊘`. Pure. */

import type { Zone } from "./zone.ts"
import { shortTokens } from "./zone.ts"

export interface LineFacts {
  /** Whether hooks track the session; otherwise there is only what Claude Code itself says. */
  readonly tracked: boolean
  /** `host`: the figures are Claude Code's own, sent just now. `state`: the hooks'. */
  readonly source: "host" | "state"
  readonly tokens: number | undefined
  /** Whether nobody has counted these tokens. */
  readonly estimated: boolean
  /** Share of the window. */
  readonly share: number | undefined
  /** Share of the point at which Claude Code compacts. */
  readonly pressure: number | undefined
  readonly zone: Zone
  readonly compactions: number
}

export const NOTHING_KNOWN: LineFacts = {
  tracked: false,
  source: "state",
  tokens: undefined,
  estimated: false,
  share: undefined,
  pressure: undefined,
  zone: "ok",
  compactions: 0,
}

const GREEN = 32
const CYAN = 36
const COLOURS: Readonly<Record<Zone, number>> = { ok: GREEN, warning: 33, critical: 31 }
/** Pressure from which an unremarkable fill is cyan. */
const HALF = 0.5

/** Without a line break, and at most 24 columns wide, whatever the figures. */
export function renderLine(facts: LineFacts, color: boolean): string {
  const { tracked, tokens, estimated, share, pressure = 0, zone, compactions } = facts
  const mark = tracked ? "🛡️" : "📂"
  if (share === undefined) return `${mark} –`
  // Rounded as Claude Code does.
  const percent = Math.min(999, Math.max(0, Math.round(share * 100)))
  const used = tokens === undefined ? "" : ` ${estimated ? "~" : ""}${shortTokens(tokens)}`
  const cycles = compactions === 0 ? "⊘" : `⟳${Math.min(compactions, 999)}`
  const text = `${percent}%${used} ${cycles}`
  if (!color) return `${mark} ${text}`
  const code = zone === "ok" && pressure >= HALF ? CYAN : COLOURS[zone]
  return `${mark} \x1b[${code}m${text}\x1b[0m`
}

/** How many lines of another status line are passed on, and how many characters of each. */
const FOREIGN_LINES = 8
const FOREIGN_LENGTH = 2000

/**
 * Puts the other status line's first line after ours and its further lines below. Ours is short and comes first, so
 * whatever the terminal cuts off is the other's.
 */
export function joinLines(own: string, other: string): string {
  const lines = other
    .split("\n")
    .slice(0, FOREIGN_LINES)
    .map((line) => line.trimEnd().slice(0, FOREIGN_LENGTH))
  while (lines.at(-1) === "") lines.pop()
  const [first = "", ...rest] = lines
  const joined = own === "" || first === "" ? own + first : `${own} │ ${first}`
  return [joined, ...rest].join("\n")
}
