/** What the picker shows, and what happens to it. Pure. */

import { usageError } from "../../base/errors.ts"
import type { Hit } from "../../find/hit.ts"
import type { ROLES } from "../../find/parse-query.ts"
import type { TurnPreview } from "../../find/preview-turn.ts"
import type { SessionSummary } from "../../find/session-summary.ts"
import type { KeyInput } from "./key-decoder.ts"
import type { QueryLine } from "./query-line.ts"

/** Filters that keys choose; those that are typed come besides. */
export interface ChosenFilters {
  /** Only the project of the folder that the picker was started in. */
  readonly isHere: boolean
  readonly role: keyof typeof ROLES | undefined
  readonly tool: string | undefined
  readonly since: string | undefined
  readonly errors: boolean
}

const NO_FILTERS: ChosenFilters = {
  isHere: false,
  role: undefined,
  tool: undefined,
  since: undefined,
  errors: false,
}

/** What a search found. */
export interface Found {
  readonly hits: readonly Hit[]
  /** What their sessions are called. */
  readonly titles: ReadonlyMap<string, string>
  /** What their projects are called. */
  readonly nameOf: (project: string) => string
  /** Set if nothing was asked for: then turns are told by their prompts. */
  readonly isNewest?: true
  readonly more: boolean
  /** What to know about how it was found, or why nothing was. */
  readonly note?: string | undefined
}

export interface TurnInSession extends TurnPreview {
  /** What its session was about. */
  readonly summary: SessionSummary
}

/** What is known of the selected turn. */
export interface Previewed {
  readonly handle: string
  readonly turn: TurnInSession
}

export interface PickerState {
  readonly columns: number
  readonly rows: number
  readonly line: QueryLine
  readonly filters: ChosenFilters
  /** Tools to choose from, the most used first; empty until one is asked for. */
  readonly tools: readonly string[]
  /** Name of the project of this folder; undefined if nothing of it is archived. */
  readonly here: string | undefined
  /** undefined until the archive is open. */
  readonly found: Found | undefined
  /** How many turns are asked for. */
  readonly limit: number
  readonly selected: number
  /** By handle, in the order in which they were marked. A new search leaves them marked. */
  readonly marked: ReadonlyMap<string, Hit>
  /** The first turn of the list that is visible. */
  readonly top: number
  /** May be of another turn than the selected one, which is then read at the next opportunity. */
  readonly preview: Previewed | undefined
  /** The first line of the preview that is visible. */
  readonly scroll: number
  /** A message in the place of the keys, until the next key. */
  readonly told: string | undefined
  /** Why there is nothing to search: lines in the place of the list. */
  readonly problem: readonly string[] | undefined
  readonly isHelp: boolean
  /** The first line of the help that is visible. */
  readonly helpTop: number
  /** Handle of the turn that stays selected when the list comes anew. */
  readonly kept: string | undefined
  /** Whether what is chosen is printed, instead of opened or copied. */
  readonly isPrinting: boolean
}

/** What happens: from the keyboard, the window, the archive. */
export type PickerEvent =
  | KeyInput
  | { readonly kind: "resized"; readonly columns: number; readonly rows: number }
  | { readonly kind: "opened"; readonly here: string | undefined }
  | { readonly kind: "tools"; readonly tools: readonly string[] }
  | { readonly kind: "failed"; readonly problem: readonly string[] }
  | { readonly kind: "found"; readonly found: Found }
  /** The same search with what is alike in meaning. */
  | { readonly kind: "joined"; readonly found: Found }
  | { readonly kind: "previewed"; readonly preview: Previewed }
  | { readonly kind: "told"; readonly text: string }

/** What is to be taken from a turn. */
export type Choice = "handle" | "command" | "path" | "resume" | "export"

/** The turns that something is done with. */
export type Chosen = readonly [Hit, ...Hit[]]

/** What has to be done about it. */
export type PickerEffect =
  | { readonly do: "search" }
  | { readonly do: "open" | "export"; readonly hits: Chosen }
  | { readonly do: "resume" | "pin"; readonly hit: Hit }
  | { readonly do: "copy" | "print"; readonly what: Choice; readonly hits: Chosen }
  | { readonly do: "list-tools" | "redraw" | "suspend" | "quit" }

/** Turns that are asked for at first. More follow when the list is scrolled to its end. */
export const FIRST_LIMIT = 30

export const initialState = (
  begin: Pick<PickerState, "columns" | "rows" | "line" | "isPrinting">,
): PickerState => ({
  ...begin,
  filters: NO_FILTERS,
  tools: [],
  here: undefined,
  found: undefined,
  limit: FIRST_LIMIT,
  selected: 0,
  marked: new Map(),
  top: 0,
  preview: undefined,
  scroll: 0,
  told: undefined,
  problem: undefined,
  isHelp: false,
  helpTop: 0,
  kept: undefined,
})

export const selectedHit = ({ found, selected }: PickerState): Hit | undefined => found?.hits[selected]

/** All that are marked; if none is, the selected one. */
export function chosenHits(state: PickerState): Chosen | undefined {
  const hit = selectedHit(state)
  const [first = hit, ...others] = state.marked.values()
  return first && [first, ...others]
}

/* Where the parts of the picker are on the screen. Pure. */

/** The smallest terminal in which the picker works. */
export const LEAST = { columns: 40, rows: 10 } as const

/**
 * What `--height` asks for, `15` or `40%`.
 *
 * @returns rows for a screen of so many; undefined: all of them
 */
export function heightOf(wanted: string | undefined): ((rows: number) => number) | undefined {
  if (wanted === undefined) return undefined
  const [, number, percent] = /^([1-9]\d{0,3})(%?)$/.exec(wanted) ?? []
  if (number === undefined)
    throw usageError(
      `--height needs rows or a share of the screen, not ${JSON.stringify(wanted)}`,
      "such as --height 15 or --height 40%",
    )
  return (rows) => (percent === "%" ? Math.round((rows * Number(number)) / 100) : Number(number))
}

/** From this width on, the preview is beside the list; below, it is under it, if there are so many rows. */
const BESIDE = 80
const UNDER = 16
/** From this width of the list on, a turn has one row; below, two. */
const WIDE = 70
/** Rows above the list: the query, the filters. */
const HEAD = 2
/** Share of the width that the list gets beside the preview, and of the height above it. */
const LIST_WIDTH = 0.44
const LIST_HEIGHT = 0.5

/** A rectangle of the screen; rows and columns count from 0. */
export interface Area {
  readonly row: number
  readonly column: number
  readonly rows: number
  readonly columns: number
}

export interface PickerLayout {
  readonly isBeside: boolean
  readonly list: Area
  /** Rows of the list that a turn has. */
  readonly perTurn: 1 | 2
  /** How many turns are visible. */
  readonly turns: number
  /** Without rows if there is no room. */
  readonly preview: Area
}

/** @returns undefined if the terminal is too small */
export function pickerLayout(columns: number, rows: number): PickerLayout | undefined {
  if (columns < LEAST.columns || rows < LEAST.rows) return undefined
  // The last row has the keys.
  const body = rows - HEAD - 1
  if (columns >= BESIDE) {
    const width = Math.floor(columns * LIST_WIDTH)
    return {
      isBeside: true,
      ...listIn({ row: HEAD, column: 0, rows: body, columns: width }),
      preview: { row: HEAD, column: width + 2, rows: body, columns: columns - width - 2 },
    }
  }
  const height = rows < UNDER ? body : Math.floor(body * LIST_HEIGHT)
  return {
    isBeside: false,
    ...listIn({ row: HEAD, column: 0, rows: height, columns }),
    preview: { row: HEAD + height + 1, column: 0, rows: Math.max(0, body - height - 1), columns },
  }
}

function listIn(list: Area): Pick<PickerLayout, "list" | "perTurn" | "turns"> {
  const perTurn = list.columns < WIDE ? 2 : 1
  return { list, perTurn, turns: Math.floor(list.rows / perTurn) }
}

export const isIn = ({ row, column, rows, columns }: Area, at: { row: number; column: number }): boolean =>
  at.row >= row && at.row < row + rows && at.column >= column && at.column < column + columns
