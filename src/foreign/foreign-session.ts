/** The common form of all other tools' archives, before they become lines of a transcript. */

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
  /** The host's session id if the tool keeps it, or else the tool's own. */
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
