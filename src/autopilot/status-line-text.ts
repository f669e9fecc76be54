/** The status line: `🛡️ 43% 86.7K ⊘`. Pure. */
import { shortTokens } from "./token-figures.ts"

export interface LineFacts {
  /** `host`: the document that the host has just sent. `state`: what hooks have tracked. */
  readonly source: "host" | "state"
  readonly tokens: number | undefined
  readonly share: number | undefined
  readonly compactions: number
}

/** Percentages from which each colour applies, highest first. */
const COLOURS: readonly (readonly [from: number, code: number])[] = [
  [85, 31],
  [70, 33],
  [50, 36],
  [0, 32],
]

/** Maximum width in columns, whatever the figures. */
export const LINE_COLUMNS = 24

/** Without a line break. */
export function renderLine({ source, tokens, share, compactions }: LineFacts, color: boolean): string {
  const mark = source === "host" ? "🛡️" : "📂"
  if (share === undefined) return `${mark} –`
  // Rounded as the host does; the colour follows the figure shown.
  const percent = Math.min(999, Math.max(0, Math.round(share * 100)))
  const used = tokens === undefined ? "" : ` ${shortTokens(tokens)}`
  const cycles = compactions === 0 ? "⊘" : `⟳${Math.min(compactions, 999)}`
  const text = `${percent}%${used} ${cycles}`
  if (!color) return `${mark} ${text}`
  const code = COLOURS.find(([from]) => percent >= from)?.[1]
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
