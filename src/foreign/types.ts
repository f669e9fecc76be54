/** What every other tool's archive is read as, before it becomes lines of a transcript. */

/** The tools, by the names that their packages have. */
export const TOOLS = ["claude-flow", "claude-mem", "leafhill"] as const

export type Tool = (typeof TOOLS)[number]

/** A row, or a part of one, that becomes a line. */
export interface Item {
  readonly kind: "prompt" | "note" | "answer" | "call" | "result" | "title"
  readonly text: string
  /** ISO 8601; undefined when the row does not tell. */
  readonly time: string | undefined
  readonly table: string
  /** The row's id in its table. */
  readonly row: string
  /** What tells it from all others of its session, whichever row holds it. */
  readonly key: string
  /** tool_use_id and name, for a call and its result. */
  readonly tool?: { readonly id: string; readonly name: string }
  readonly model?: string
  /** Token counts, as the API names them. */
  readonly usage?: Readonly<Record<string, number>>
  /** The row's other columns: nothing of it is dropped. */
  readonly fields?: Readonly<Record<string, unknown>>
}

export interface ForeignSession {
  /** The host's session id where the tool keeps it, else the tool's own. */
  readonly id: string
  /** Absolute; undefined when the tool does not tell. */
  readonly cwd: string | undefined
  readonly items: readonly Item[]
}

/** An archive of another tool's, opened for reading. */
export interface ForeignArchive {
  readonly tool: Tool
  /** One at a time: the whole need not fit into memory. */
  sessions(): Iterable<ForeignSession>
  close(): void
}

/** By time; rows of the same moment as they came. */
export function inOrder(items: readonly Item[]): Item[] {
  return items.toSorted((a, b) => {
    const [left, right] = [a.time ?? "", b.time ?? ""]
    return left < right ? -1 : left > right ? 1 : 0
  })
}
