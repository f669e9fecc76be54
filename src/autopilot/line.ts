/** The status line: `🛡️ 43% 86.7K ⊘`. Pure. */
import { shortTokens } from "./tokens.ts"

export interface LineFacts {
  /** `host`: from the document that the host gave just now. `state`: from what hooks have followed. */
  readonly source: "host" | "state"
  /** Undefined while nobody knows. */
  readonly tokens: number | undefined
  /** Share of the window. */
  readonly share: number | undefined
  /** Compactions so far. */
  readonly compactions: number
}

/** Shares from which on the colour is another one, the highest first. */
const COLOURS: readonly (readonly [from: number, code: number])[] = [
  [85, 31],
  [70, 33],
  [50, 36],
  [0, 32],
]

/** At most this many columns, whatever the figures. */
export const LINE_COLUMNS = 24

/** Without a line break. */
export function renderLine({ source, tokens, share, compactions }: LineFacts, color: boolean): string {
  const mark = source === "host" ? "🛡️" : "📂"
  if (share === undefined) return `${mark} –`
  // As the host rounds; the colour is that of the figure shown.
  const percent = Math.min(999, Math.max(0, Math.round(share * 100)))
  const used = tokens === undefined ? "" : ` ${shortTokens(tokens)}`
  const cycles = compactions === 0 ? "⊘" : `⟳${Math.min(compactions, 999)}`
  const text = `${percent}%${used} ${cycles}`
  if (!color) return `${mark} ${text}`
  const code = COLOURS.find(([from]) => percent >= from)?.[1]
  return `${mark} \x1b[${code}m${text}\x1b[0m`
}

/** Lines of another status line that are passed on, and characters of each. */
const FOREIGN_LINES = 8
const FOREIGN_LENGTH = 2000

/**
 * Our line, and behind it what another status line says; further lines of that below. A line of ours is short, so what
 * the terminal cuts off is the other's end.
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
