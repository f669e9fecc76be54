/** Brings the views up to date with copies that were fetched from another machine. */
import { catchUp } from "../archive/indexing.ts"
import { openWhole } from "../archive/open-or-repair.ts"
import { listPending } from "../archive/pending.ts"

/** ms to wait for other processes that have the database open. */
const PATIENCE = { wait: 5000, most: Number.POSITIVE_INFINITY }

export function followFetched(
  dataHome: string,
  onProgress: (label: string, done: number, total: number) => void,
): void {
  const db = openWhole(dataHome, PATIENCE)
  try {
    const total = listPending(dataHome).length
    const onSlice = (): void => onProgress("reading", total - listPending(dataHome).length, total)
    catchUp(db, dataHome, Number.POSITIVE_INFINITY, onSlice)
  } finally {
    db.close()
  }
}
