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

/* Quotes for a POSIX shell, for commands that we write. Reading them is `record/shell-script.ts`. Pure. */

/** A text as one word, so that a printed command line can be pasted. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : singleQuoted(text))

export const singleQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/* Takes out of text what would steer whatever shows it. Pure. */

/** C0 except tab and newline, DEL, C1, and the marks that reorder a line. */
const STEERING = /(?![\t\n])[\p{Cc}\p{Bidi_C}]/gu

/** Without a terminal's sequences; other characters that steer become U+FFFD. */
export const unsteered = (text: string): string =>
  Bun.stripANSI(text.replace(/\r\n/g, "\n")).replace(STEERING, "\ufffd")

/** A table in GitHub's syntax, padded so that a terminal shows it well, too. Pure. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (cells[i] ?? "").padEnd(width)).join(" | ")} |`
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)]
}

/* Addresses as people are shown them. Hooks load this only when something went wrong: see errors.ts. Pure. */

/**
 * The text without the passwords and tokens of the addresses in it: `https://bob:***@example.com`. An address may be
 * written wrongly, with `/`, `?` or `@` in its password; a port is none.
 */
export function withoutPasswords(text: string): string {
  return text
    .replace(
      /((?:\b[a-z][a-z0-9+.-]{0,24}:\/\/|\bpostgres(?:ql)?:)[^\s/?#"'@:]{0,256}):(?!\d{1,5}(?:[/?#\s]|$))[^\s"'<>]{0,2048}@/gi,
      "$1:***@",
    )
    .replace(/(\bhttps?:\/\/)[^\s/?#"'@:]{16,512}@/gi, "$1***@")
    .replace(
      /([?&][\w-]{0,32}(?:token|key|secret|passw(?:or)?d|pwd|sig|signature|credential|auth)=)[^&\s#"'<>]{1,2048}/gi,
      "$1***",
    )
}

/** What somebody typed as an address, for people: nothing ends its password but the last `@`. */
export const addressShown = (address: string): string =>
  withoutPasswords(
    address.replace(
      /^(\s*(?:[a-z][a-z0-9+.-]*:\/\/|postgres(?:ql)?:)[^/?#@:]*):(?!\d{1,5}(?:[/?#]|$)).*@/is,
      "$1:***@",
    ),
  )

/* Tells what a mistyped word may have meant. Pure. */

/**
 * How many letters must be put in, left out, replaced, or swapped with the next one, to make one of the other (Damerau
 * and Levenshtein, as optimal string alignment).
 */
export function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwapped ? before[j - 2]! + 1 : change
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, change, swap))
    }
    before = row
    row = next
  }
  return row[b.length]!
}

/** The nearest of these names, if it is no further than this. */
export const nearest = (word: string, names: readonly string[], furthest: number): string | undefined =>
  names
    .map((name) => ({ name, far: distance(word, name) }))
    .filter(({ far }) => far <= furthest)
    .sort((a, b) => a.far - b.far)[0]?.name

/** The names that are like a mistyped one, nearest first; those that contain it come last. */
export function nearNames(word: string, names: readonly string[], most = 3): string[] {
  const typed = word.toLowerCase()
  const furthest = Math.max(1, Math.floor(typed.length / 3))
  const near = names.flatMap((name) => {
    const known = name.toLowerCase()
    const far = distance(typed, known)
    if (far <= furthest) return [{ name, far }]
    return typed.length > 2 && known.includes(typed) ? [{ name, far: furthest + 1 }] : []
  })
  return near
    .sort((a, b) => a.far - b.far)
    .slice(0, most)
    .map(({ name }) => name)
}
