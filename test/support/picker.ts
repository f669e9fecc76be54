/** States of the picker, without an archive. */
import type { PickerScreen } from "../../src/cli/picker/picker-picture.ts"
import { initialState, type PickerEvent, type PickerState } from "../../src/cli/picker/picker-state.ts"
import { updated } from "../../src/cli/picker/picker-update.ts"
import { lineWith } from "../../src/cli/picker/query-line.ts"
import type { Hit } from "../../src/find/hit.ts"
import { namesApart } from "../../src/views/project.ts"

export const NOW = Date.UTC(2026, 2, 9, 12)

export const screen = (given: Partial<PickerScreen> = {}): PickerScreen => ({
  color: false,
  unicode: true,
  now: NOW,
  ...given,
})

const SESSION = "5e551011-0000-4000-8000-000000000001"
export const TITLES: ReadonlyMap<string, string> = new Map([[SESSION, "Dates in invoices"]])

export const hit = (n: number, given: Partial<Hit> = {}): Hit => ({
  handle: `ctx:turn${n}`,
  session: SESSION,
  seq: n,
  uuid: null,
  project: "/src/app/.git",
  time: new Date(NOW - n * 3_600_000).toISOString(),
  role: "human",
  tool: null,
  score: 1,
  why: ["parse"],
  snippet: `please parse the dates of turn ${n}`,
  marks: [[7, 12]],
  prompt: null,
  answer: "They are parsed.",
  also: [],
  ...given,
})

export const nameOf = (project: string): string => namesApart([project]).get(project)!

/** A picker that has found some turns. */
export const pickerState = (
  hits: readonly Hit[] | undefined,
  given: Partial<PickerState> = {},
): PickerState => ({
  ...initialState({ columns: 80, rows: 24, line: lineWith(""), isPrinting: false }),
  found: hits && { hits, titles: TITLES, nameOf, more: false },
  here: "app",
  tools: ["Bash", "Edit"],
  ...given,
})

/** What becomes of a state after events; effects are forgotten. */
export const afterEvents = (state: PickerState, ...events: readonly PickerEvent[]): PickerState =>
  events.reduce((now, event) => updated(now, event)[0], state)

export const key = (name: string): PickerEvent => ({ kind: "key", name })

/** A frame's line as it is read: without colours. */
export const plain = (line: string): string => Bun.stripANSI(line)
