/** Guards for values from other tools' rows: SQLite guarantees no types, and columns vary between versions. Pure. */
import type { Item } from "./foreign-session.ts"

export type Row = Readonly<Record<string, unknown>>

/** A string that is not blank; numbers are converted. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === "number" || typeof value === "bigint") return String(value)
  return typeof value === "string" && value.trim() !== "" ? value : undefined
}

/** The year 2000 in ms since the epoch. A smaller number cannot be the time of a session. */
const EARLIEST = 946_684_800_000
const LATEST = 8.64e15

/** The first valid time, as ISO 8601: ms since the epoch, or what SQLite's `datetime` writes (UTC). */
function isoTime(...candidates: readonly unknown[]): string | undefined {
  for (const value of candidates) {
    const ms = typeof value === "number" ? value : typeof value === "string" ? parsed(value) : Number.NaN
    if (ms >= EARLIEST && ms <= LATEST) return new Date(ms).toISOString()
  }
  return undefined
}

function parsed(text: string): number {
  const plain = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)$/.exec(text)
  return Date.parse(plain === null ? text : `${plain[1]}T${plain[2]}Z`)
}

/**
 * Where an item comes from.
 *
 * @param times what may hold its time, best first
 * @param used columns that become something else of the item; all others are kept as they are
 */
export function placeIn(
  table: string,
  row: Row,
  times: readonly unknown[],
  used: readonly string[],
): Pick<Item, "time" | "table" | "row" | "fields"> {
  const rest = Object.entries(row).filter(
    ([name, value]) =>
      !used.includes(name) && value !== null && value !== "" && !(value instanceof Uint8Array),
  )
  const fields = rest.length === 0 ? {} : { fields: Object.fromEntries(rest) }
  return { time: isoTime(...times), table, row: textOf(row["id"]) ?? "", ...fields }
}

export const absolutePath = (value: unknown): string | undefined =>
  typeof value === "string" && value.startsWith("/") && value.length <= 4096 && !value.includes("\0")
    ? value
    : undefined
