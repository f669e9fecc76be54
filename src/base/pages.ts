/** Splits long output into pages. Pure. */
import { usageError } from "./errors.ts"

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly number: number
  readonly of: number
}

/**
 * Page `number` of `items`. Each page holds as many items as fit into `room`, but at least one.
 *
 * @param sizeOf how much room an item takes
 * @throws CtxError for a page that does not exist
 */
export function pageOf<T>(
  items: readonly T[],
  number: number,
  room: number,
  sizeOf: (item: T) => number,
): ListPage<T> {
  const pages: T[][] = [[]]
  let left = room
  for (const item of items) {
    const size = sizeOf(item)
    if (size > left && pages.at(-1)!.length > 0) {
      pages.push([])
      left = room
    }
    pages.at(-1)!.push(item)
    left -= size
  }
  const page = pages[number - 1]
  if (page === undefined) throw usageError(`there is no page ${number}`, `the last page is ${pages.length}`)
  return { items: page, number, of: pages.length }
}

/**
 * Splits text into lines of at most `length` UTF-16 units, so one endless line cannot fill a page; surrogate pairs stay
 * whole.
 */
export function shortLines(text: string, length: number): string[] {
  const lines: string[] = []
  for (const line of text.split("\n")) {
    let at = 0
    while (line.length - at > length) {
      const unit = line.charCodeAt(at + length - 1)
      const end = at + length - (unit >= 0xd800 && unit <= 0xdbff ? 1 : 0)
      lines.push(line.slice(at, end))
      at = end
    }
    lines.push(line.slice(at))
  }
  return lines
}
