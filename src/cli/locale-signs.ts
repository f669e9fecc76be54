/** What stands for our signs where the locale has none of them. Pure. */

/** Each as wide as what it stands for, so that what fitted still fits. */
const PLAIN: Readonly<Record<string, string>> = {
  ...{ "·": "-", "•": "*", "→": ">", "✓": "+", "✗": "x", "☐": "o", "☒": "x", "📷": "[]", "⊘": "-" },
  ...{ "─": "-", "═": "=", "│": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+" },
  ...{ "┬": "+", "┴": "+", "┼": "+", "█": "#", "░": ".", "⋮": ":", "\u{fffd}": "?" },
}
const SIGNS = new RegExp(`[${Object.keys(PLAIN).join("")}]`, "gu")

/** A line with our signs in ASCII, and no wider than `columns` if it was not before. */
export function inAscii(line: string, columns: number): string {
  const plain = line.replace(SIGNS, (sign) => PLAIN[sign]!)
  if (!plain.includes("…")) return plain
  const dots = plain.replaceAll("…", "...")
  return Bun.stringWidth(dots) <= columns ? dots : plain.replaceAll("…", "~")
}
