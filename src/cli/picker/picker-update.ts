/** What the picker makes of each event: a new state, and what has to be done. Pure. */
import { ROLES } from "../../find/parse-query.ts"
import type { KeyInput, MouseInput } from "./key-decoder.ts"
import { helpLines } from "./picker-picture.ts"
import { previewLines } from "./picker-preview.ts"
import {
  type Area,
  type Choice,
  type ChosenFilters,
  chosenHits,
  FIRST_LIMIT,
  type Found,
  isIn,
  type PickerEffect,
  type PickerEvent,
  type PickerState,
  pickerLayout,
  selectedHit,
} from "./picker-state.ts"
import { actionOf, edited, type PickerAction, type QueryLine, withTyped } from "./query-line.ts"

type Updated = readonly [state: PickerState, effects: readonly PickerEffect[]]

/** Lines that a wheel's step scrolls the preview. */
const WHEEL = 3
/** Tools that can be chosen by a key; others are typed. */
const MOST_TOOLS = 8
const ROLE_CHOICES: readonly ChosenFilters["role"][] = [
  undefined,
  ...(Object.keys(ROLES) as (keyof typeof ROLES)[]),
]
const SINCE_CHOICES: readonly ChosenFilters["since"][] = [undefined, "1d", "7d", "30d"]
/** How many times more turns are asked for at the end of the list. */
const MORE = 4

export function updated(state: PickerState, event: PickerEvent): Updated {
  switch (event.kind) {
    case "resized":
      return still(withTop({ ...state, columns: event.columns, rows: event.rows }))
    case "opened":
      return still({ ...state, here: event.here, problem: undefined })
    case "tools":
      return withNextTool({ ...state, tools: event.tools.slice(0, MOST_TOOLS) })
    case "failed":
      return still({ ...state, problem: event.problem })
    case "found": {
      const { hits } = event.found
      const kept = hits.findIndex(({ handle }) => handle === state.kept)
      const selected = kept < 0 ? Math.min(state.selected, Math.max(0, hits.length - 1)) : kept
      return still(withTop({ ...state, found: event.found, problem: undefined, selected, kept: undefined }))
    }
    case "joined":
      return still(withTop({ ...state, found: belowCursor(state, event.found) }))
    case "previewed":
      return still({ ...state, preview: event.preview })
    case "told":
      return still({ ...state, told: event.text })
    default:
      return pressed({ ...state, told: undefined }, event)
  }
}

const still = (state: PickerState): Updated => [state, []]

/** What comes later changes the list below the cursor only: who is about to choose a turn is not given another one. */
function belowCursor({ found, selected }: PickerState, later: Found): Found {
  const kept = found?.hits.slice(0, selected + 1) ?? []
  const known = new Set(kept.map(({ handle }) => handle))
  return { ...later, hits: [...kept, ...later.hits.filter(({ handle }) => !known.has(handle))] }
}

function pressed(state: PickerState, input: KeyInput): Updated {
  if (state.isHelp) return inHelp(state, input)
  if (input.kind === "mouse") return clicked(state, input)
  if (input.kind === "text") {
    if (input.text === "?" && state.line.text === "") return acted(state, "help")
    return typed(state, withTyped(state.line, input.text))
  }
  const action = input.kind === "key" ? actionOf(input.name) : undefined
  return action === undefined ? still(state) : acted(state, action)
}

/** What moves in a list moves in the help; every other key leaves it. */
function inHelp(state: PickerState, input: KeyInput): Updated {
  if (input.kind === "key" && input.name === "ctrl-c") return acted(state, "quit")
  const { rows, helpTop } = state
  const step = helpStep(input, rows - 2)
  if (step === 0) return still({ ...state, isHelp: input.kind === "mouse" })
  const last = Math.max(0, helpLines(state, { unicode: true, color: false, now: 0 }).length - rows + 1)
  return still({ ...state, helpTop: Math.max(0, Math.min(helpTop + step, last)) })
}

function helpStep(input: KeyInput, page: number): number {
  if (input.kind === "mouse") return input.action === "press" ? 0 : input.action === "wheel-down" ? 1 : -1
  const action = input.kind === "key" ? actionOf(input.name) : undefined
  const steps = { down: 1, up: -1, "preview-page-down": page, "preview-page-up": -page }
  return steps[action as keyof typeof steps] ?? 0
}

const withNextTool = (state: PickerState): Updated =>
  filtered(state, { tool: next([undefined, ...state.tools], state.filters.tool) })

/** With another query or filter, the list begins anew. */
const anew = (state: PickerState): Updated => [
  { ...state, selected: 0, top: 0, scroll: 0, limit: FIRST_LIMIT },
  [{ do: "search" }],
]

function typed(state: PickerState, line: QueryLine): Updated {
  if (line.text !== state.line.text) return anew({ ...state, line })
  // Whether the last word is being typed depends on where the cursor is.
  const isOther = line.cursor !== state.line.cursor
  return isOther ? [{ ...state, line }, [{ do: "search" }]] : still(state)
}

function acted(state: PickerState, action: PickerAction): Updated {
  const hit = selectedHit(state)
  const line = edited(state.line, action)
  if (line !== undefined) return typed(state, line)
  switch (action) {
    case "open":
      return state.isPrinting ? taken(state, "handle") : withAll(state, "open")
    case "export":
      return state.isPrinting ? taken(state, "export") : withAll(state, "export")
    case "mark":
      return marking(state, 1)
    case "mark-up":
      return marking(state, -1)
    case "resume":
      if (state.isPrinting) return taken(state, "resume")
      return hit === undefined ? still(state) : [state, [{ do: "resume", hit }]]
    case "pin":
      if (hit === undefined) return still(state)
      return [{ ...state, kept: hit.handle }, [{ do: "pin", hit }, { do: "search" }]]
    case "take-handle":
      return taken(state, "handle")
    case "take-command":
      return taken(state, "command")
    case "take-path":
      return taken(state, "path")
    case "next-project":
      if (state.here === undefined) return told(state, "nothing of this folder's project is archived")
      return filtered(state, { isHere: !state.filters.isHere })
    case "next-role":
      return filtered(state, { role: next(ROLE_CHOICES, state.filters.role) })
    case "next-tool":
      return state.tools.length === 0 ? [state, [{ do: "list-tools" }]] : withNextTool(state)
    case "next-since":
      return filtered(state, { since: next(SINCE_CHOICES, state.filters.since) })
    case "toggle-errors":
      return filtered(state, { errors: !state.filters.errors })
    case "down":
      return selecting(state, state.selected + 1)
    case "up":
      return selecting(state, state.selected - 1)
    case "preview-down":
      return scrolled(state, 1)
    case "preview-up":
      return scrolled(state, -1)
    case "preview-page-down":
      return scrolled(state, pageOf(state))
    case "preview-page-up":
      return scrolled(state, -pageOf(state))
    case "help":
      return still({ ...state, isHelp: true, helpTop: 0 })
    case "suspend":
      // A shell that waits for what is printed would not come back.
      return state.isPrinting ? still(state) : [state, [{ do: "suspend" }]]
    default:
      return action === "redraw" || action === "quit" ? [state, [{ do: action }]] : still(state)
  }
}

const told = (state: PickerState, text: string): Updated => still({ ...state, told: text })

function withAll(state: PickerState, effect: "open" | "export"): Updated {
  const hits = chosenHits(state)
  return hits === undefined ? still(state) : [state, [{ do: effect, hits }]]
}

/** A command, a path and a session are one turn's. */
function taken(state: PickerState, what: Choice): Updated {
  const hit = selectedHit(state)
  const hits = what === "handle" || what === "export" ? chosenHits(state) : hit && ([hit] as const)
  return hits === undefined
    ? still(state)
    : [state, [{ do: state.isPrinting ? "print" : "copy", what, hits }]]
}

/** Marks the selected turn, or takes its mark off, and goes on. */
function marking(state: PickerState, step: 1 | -1): Updated {
  const hit = selectedHit(state)
  if (hit === undefined) return still(state)
  const marked = new Map(state.marked)
  if (!marked.delete(hit.handle)) marked.set(hit.handle, hit)
  return selecting({ ...state, marked }, state.selected + step)
}

const filtered = (state: PickerState, chosen: Partial<ChosenFilters>): Updated =>
  anew({ ...state, filters: { ...state.filters, ...chosen } })

const next = <T>(choices: readonly T[], now: T): T => choices[(choices.indexOf(now) + 1) % choices.length]!

function selecting(state: PickerState, wanted: number): Updated {
  const { found, limit } = state
  if (found === undefined || found.hits.length === 0) return still(state)
  const selected = Math.max(0, Math.min(wanted, found.hits.length - 1))
  const isAtEnd = found.more && wanted >= found.hits.length - 1 && found.hits.length >= limit
  const scroll = selected === state.selected ? state.scroll : 0
  const moved = withTop({ ...state, selected, scroll, ...(isAtEnd && { limit: limit * MORE }) })
  return [moved, isAtEnd ? [{ do: "search" }] : []]
}

/** Keeps the selected turn visible. */
function withTop(state: PickerState): PickerState {
  const rows = pickerLayout(state.columns, state.rows)?.turns ?? 1
  const { selected, top, found } = state
  const most = Math.max(0, (found?.hits.length ?? 0) - rows)
  return { ...state, top: Math.max(0, selected - rows + 1, Math.min(top, selected, most)) }
}

const previewArea = (state: PickerState): Area | undefined => pickerLayout(state.columns, state.rows)?.preview

/** A line of the page before stays visible. */
const pageOf = (state: PickerState): number => Math.max(1, (previewArea(state)?.rows ?? 2) - 1)

function scrolled(state: PickerState, lines: number): Updated {
  const area = previewArea(state)
  if (area === undefined) return still(state)
  // The number of lines is the same with and without Unicode, but for a few: the picture shows no further than the end.
  const all = previewLines(state, area.columns, { unicode: true }).length
  const scroll = Math.max(0, Math.min(state.scroll + lines, all - area.rows))
  return still({ ...state, scroll })
}

function clicked(state: PickerState, { action, ...at }: MouseInput): Updated {
  const layout = pickerLayout(state.columns, state.rows)
  if (layout === undefined) return still(state)
  const isInList = isIn(layout.list, at)
  if (action !== "press") {
    const step = action === "wheel-down" ? 1 : -1
    return isInList ? selecting(state, state.selected + step) : scrolled(state, WHEEL * step)
  }
  const clickedOn = state.top + Math.floor((at.row - layout.list.row) / layout.perTurn)
  if (!isInList || clickedOn >= (state.found?.hits.length ?? 0)) return still(state)
  // A second click opens.
  return clickedOn === state.selected ? acted(state, "open") : selecting(state, clickedOn)
}
