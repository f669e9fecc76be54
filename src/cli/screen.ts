/** The terminal on which something is shown to people. */
import type { Output } from "./command.ts"
import { createStyle, type Style } from "./style.ts"

/** What rendering needs to know. */
export interface Screen {
  readonly columns: number
  readonly style: Style
  /** ms since the epoch. */
  readonly now: number
}

export const screenOf = ({ color, columns }: Output, now = Date.now()): Screen => ({
  columns,
  style: createStyle(color),
  now,
})
