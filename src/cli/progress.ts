/** The line that shows how far long work is. Pure. */
import { bytes } from "../base/text.ts"

/** What `done` and `total` count. */
export type ProgressUnit = "bytes" | "items"

export interface ProgressAt {
  readonly label: string
  readonly done: number
  readonly total: number
  readonly unit: ProgressUnit
  /** ms since it began, and what was done by then. */
  readonly elapsed: number
  readonly began: number
  readonly columns: number
}

/** Columns of the bar, and the least with which it is worth showing. */
const BAR = 24
const LEAST_BAR = 5
/** ms and share before the time left is more than a guess. */
const SURE_AFTER = 2000
const SURE_SHARE = 0.02

/** `archiving [=======                 ]  31%  1.2 GB of 3.9 GB  40 s left`, as much of it as fits before the last column. */
export function progressLine(at: ProgressAt): string {
  const { label, done, total, unit, columns } = at
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const percent = `${Math.floor(share * 100)}%`
  const sizes = unit === "bytes" ? `${bytes(Math.min(done, total))} of ${bytes(total)}` : ""
  const left = timeLeft(at)
  // A line that wraps cannot be overdrawn.
  const room = columns - 1
  for (const details of [[sizes, left], [left || sizes], []]) {
    const tail = [percent, ...details].filter(Boolean).join("  ")
    const bar = Math.min(BAR, room - label.length - tail.length - 4)
    if (bar < LEAST_BAR && details.length > 0) continue
    return bar < 1 ? `${label} ${tail}`.slice(0, room) : `${label} [${drawn(share, bar)}] ${tail}`
  }
  return ""
}

function drawn(share: number, width: number): string {
  const full = Math.round(share * width)
  return "=".repeat(full) + " ".repeat(width - full)
}

/** Empty while it is not known: at first, and when nothing is left. */
function timeLeft({ done, total, elapsed, began }: ProgressAt): string {
  const gained = done - began
  if (elapsed < SURE_AFTER || gained < (total - began) * SURE_SHARE || done >= total) return ""
  return `${duration(((total - done) / gained) * elapsed)} left`
}

/** `40 s`, `3 min`, `1 h 20 min`. */
function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 100) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
