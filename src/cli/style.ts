/** Text for a terminal: colour where it is wanted, and nothing that could steer the terminal. */

export interface Style {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
}

const wrap = (on: boolean, open: number, close: number) => (text: string) =>
  on && text !== "" ? `\x1b[${open}m${text}\x1b[${close}m` : text

export function createStyle(color: boolean): Style {
  return {
    bold: wrap(color, 1, 22),
    dim: wrap(color, 2, 22),
    red: wrap(color, 31, 39),
    green: wrap(color, 32, 39),
  }
}

/** C0 but tab and newline, DEL, C1, and the marks that reorder a line. */
const STEERING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Text from the archive: tool output holds escape sequences, and anybody may have written them. */
export function safe(text: string): string {
  return Bun.stripANSI(text.replace(/\r\n/g, "\n")).replace(STEERING, "\ufffd")
}

/** JSON of a value, in which the same is escaped: programs read what they would have read. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    STEERING,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

/** On one line, at most `width` columns wide. */
export function fit(text: string, width: number): string {
  const line = safe(text.slice(0, width * 8))
    .replace(/\s+/g, " ")
    .trim()
  if (Bun.stringWidth(line) <= width) return line
  let kept = ""
  let used = 0
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    const next = Bun.stringWidth(segment)
    if (used + next > width - 1) break
    kept += segment
    used += next
  }
  return width < 1 ? "" : `${kept.trimEnd()}…`
}

/** The same behind two spaces. */
export const indented = (text: string, width: number): string => `  ${fit(text, width - 2)}`
