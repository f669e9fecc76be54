/** What the picker shows, and what happens to it. Pure. */

import type { SessionSummary } from "../../read/session-summary.ts"
import type { Hit } from "../../search/hit.ts"
import { ROLES } from "../../search/parse-query.ts"
import type { TurnPreview } from "../../search/preview-turn.ts"
import type { KeyInput } from "./key-decoder.ts"
import type { QueryLine } from "./query-line.ts"

export type Role = (typeof ROLES)[number]

/** Filters that keys choose; those that are typed come besides. */
export interface ChosenFilters {
  /** Only the project of the folder that the picker was started in. */
  readonly isHere: boolean
  readonly role: Role | undefined
  readonly tool: string | undefined
  readonly since: string | undefined
  readonly errors: boolean
}

export const NO_FILTERS: ChosenFilters = {
  isHere: false,
  role: undefined,
  tool: undefined,
  since: undefined,
  errors: false,
}

export const ROLE_CHOICES: readonly (Role | undefined)[] = [undefined, ...ROLES]
export const SINCE_CHOICES: readonly (string | undefined)[] = [undefined, "1d", "7d", "30d"]

/** What a search found. */
export interface Found {
  readonly hits: readonly Hit[]
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
  | { readonly kind: "previewed"; readonly preview: Previewed }
  | { readonly kind: "told"; readonly text: string }

/** What is to be taken from a turn. */
export type Choice = "handle" | "command" | "path" | "resume"

/** What has to be done about it. */
export type PickerEffect =
  | { readonly do: "search" }
  | { readonly do: "open"; readonly hit: Hit }
  | { readonly do: "resume"; readonly hit: Hit }
  | { readonly do: "copy" | "print"; readonly what: Choice; readonly hit: Hit }
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
  top: 0,
  preview: undefined,
  scroll: 0,
  told: undefined,
  problem: undefined,
  isHelp: false,
})

export const selectedHit = ({ found, selected }: PickerState): Hit | undefined => found?.hits[selected]
