/** Shortens text for people and models. Pure. */

/** At most `limit` UTF-16 units, never half a surrogate pair. If text was cut, `mark` is included in the limit. */
export function cut(text: string, limit: number, mark = "…"): string {
  if (text.length <= limit) return text
  if (limit <= mark.length) return limit <= 0 ? "" : wholePoints(text, limit)
  return wholePoints(text, limit - mark.length) + mark
}

function wholePoints(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

/** Collapses white space so that the text fits on a line. */
export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim()

const UNITS = ["B", "KB", "MB", "GB", "TB"] as const

/** `1536` → `1.5 KB`. */
export function bytes(n: number): string {
  let value = n
  let unit = 0
  // Judged by the rounded value: 999,600 must not become 1000 KB, nor 9,960 10.0 KB.
  while (Math.round(value) >= 1000 && unit < UNITS.length - 1) {
    value /= 1000
    unit++
  }
  return unit === 0 ? `${n} B` : `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

/** `0.434` → `43%`, with one digit `43.4%`. */
export const percent = (share: number, digits = 0): string => `${(100 * share).toFixed(digits)}%`

/** `1 turn`, `2 turns`. */
export const count = (n: number, noun: string, plural = `${noun}s`): string =>
  `${n} ${n === 1 ? noun : plural}`

/** UTF-16 units that lines take when they are joined, the last one's line break included. */
export const lengthOf = (lines: readonly string[]): number =>
  lines.reduce((sum, { length }) => sum + length + 1, 0)
