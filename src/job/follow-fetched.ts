/** Brings the views up to date with copies that were fetched from another machine. */
import { catchUp } from "../views/indexing.ts"
import { openCurrent } from "../views/open-current.ts"
import { listPending } from "../views/pending.ts"

export function followFetched(
  dataHome: string,
  onProgress: (label: string, done: number, total: number) => void,
): void {
  const db = openCurrent(dataHome, "job")
  try {
    const total = listPending(dataHome).length
    const onSlice = (): void => onProgress("reading", total - listPending(dataHome).length, total)
    catchUp(db, dataHome, Number.POSITIVE_INFINITY, onSlice)
  } finally {
    db.close()
  }
}
