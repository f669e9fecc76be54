/** Where something is shown to people. */
import type { Output } from "./command.ts"
import { createStyle, type Style } from "./style.ts"

/** What a rendering has to know of it. */
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
