/** Guards for values from other tools' rows: SQLite guarantees no types, and columns vary between versions. Pure. */

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

/* The common form of all other tools' archives, before they become lines of a transcript. */

/** The tools, by their package names. */
export type Tool = "claude-flow" | "claude-mem" | "leafhill"

/** A row, or part of one, that becomes a line. */
export interface Item {
  readonly kind: "prompt" | "note" | "answer" | "call" | "result" | "title"
  readonly text: string
  /** ISO 8601; undefined when the row has none. */
  readonly time: string | undefined
  readonly table: string
  readonly row: string
  /** Identifies the item within its session, whichever row it is in. */
  readonly key: string
  /** tool_use_id and name, for a call and its result. */
  readonly tool?: { readonly id: string; readonly name: string }
  readonly model?: string
  /** Token counts, as the API names them. */
  readonly usage?: Readonly<Record<string, number>>
  /** The row's other columns, so that nothing is lost. */
  readonly fields?: Readonly<Record<string, unknown>>
}

export interface ForeignSession {
  /** Claude Code's session id if the tool keeps it, or else the tool's own. */
  readonly id: string
  /** Absolute; undefined when the tool does not record it. */
  readonly cwd: string | undefined
  readonly items: readonly Item[]
}

export interface ForeignArchive {
  readonly tool: Tool
  /** Yields one session at a time: the whole may not fit into memory. */
  sessions(): Iterable<ForeignSession>
  close(): void
}

/** Sorts by time; items of the same moment keep their order. */
export function inOrder(items: readonly Item[]): Item[] {
  return items.toSorted((a, b) => {
    const [left, right] = [a.time ?? "", b.time ?? ""]
    return left < right ? -1 : left > right ? 1 : 0
  })
}
