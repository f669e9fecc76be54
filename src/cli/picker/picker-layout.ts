/** Where the parts of the picker are on the screen. Pure. */

/** The smallest terminal in which the picker works. */
export const LEAST = { columns: 60, rows: 20 } as const

/** From this width on, the preview is beside the list; below, it is under it. */
const BESIDE = 80
/** Rows above the list: the query, the filters. */
const HEAD = 2
/** Share of the width that the list gets beside the preview, and of the height above it. */
const LIST_WIDTH = 0.44
const LIST_HEIGHT = 0.45

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
      list: { row: HEAD, column: 0, rows: body, columns: width },
      preview: { row: HEAD, column: width + 2, rows: body, columns: columns - width - 2 },
    }
  }
  const height = Math.floor(body * LIST_HEIGHT)
  return {
    isBeside: false,
    list: { row: HEAD, column: 0, rows: height, columns },
    preview: { row: HEAD + height + 1, column: 0, rows: body - height - 1, columns },
  }
}

export const isIn = ({ row, column, rows, columns }: Area, at: { row: number; column: number }): boolean =>
  at.row >= row && at.row < row + rows && at.column >= column && at.column < column + columns
