/** One picture for each kind of tool, drawn once a page and referred to. Pure. */
import type { ToolKind } from "../../transcript/agent.ts"
import { type Html, html } from "./markup.ts"

/** Paths in a field of 16 by 16. */
const ICONS = {
  run: "M3 4l4 4-4 4M8.5 12H13",
  read: "M4 2h5.5L12 4.5V14H4zM9 2v3h3",
  edit: "M10.5 3l2.5 2.5L6 12.5l-3 .5.5-3zM9 4.5L11.5 7",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8M10 10l3.5 3.5",
  fetch: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M2 8h12M8 2c-3.5 4-3.5 8 0 12M8 2c3.5 4 3.5 8 0 12",
  agent: "M4 2v12M4 9c0-3 8-1 8-5M12 2a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
  todo: "M3 8.5L6.5 12 13 4.5",
  tool: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 2v3M8 11v3M2 8h3M11 8h3",
} as const

type IconName = keyof typeof ICONS

const OF_KIND: Partial<Record<ToolKind, IconName>> = {
  ...{ run: "run", "run-other": "run", watch: "run", read: "read", write: "edit", edit: "edit" },
  ...{
    search: "search",
    "search-tools": "search",
    fetch: "fetch",
    agent: "agent",
    todo: "todo",
    plan: "todo",
  },
}

export const iconOf = (kind: ToolKind | undefined): Html => icon((kind && OF_KIND[kind]) ?? "tool")

export const icon = (name: IconName): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="#icon-${name}"/></svg>`

export const iconSheet = (): Html =>
  html`<svg class="sheet" aria-hidden="true">${Object.entries(ICONS).map(
    ([name, path]) => html`<symbol id="icon-${name}" viewBox="0 0 16 16"><path d="${path}"/></symbol>`,
  )}</svg>`
