/** What compactions dropped, and what of it was restored: the sums of the latest receipts. */
import type { Database } from "../archive/database.ts"
import type { Receipt } from "../restore/receipt.ts"
import { totalOf } from "../restore/receipt-total.ts"
import { receiptsOf } from "../restore/session-receipts.ts"

/** Each takes reading a transcript, so only the latest are examined. */
const EXAMINED = 10

export interface CompactionStats {
  /** Compactions whose figures are in, the latest of the span. */
  readonly examined: number
  /** Whether the span has older ones. */
  readonly more: boolean
  readonly kinds: Receipt["kinds"]
}

export function compactionStats(
  db: Database,
  dataHome: string,
  { project, since }: { project: string | undefined; since: string | undefined },
  onProgress: (done: number, total: number) => void,
): CompactionStats {
  const all = receiptsOf(db, dataHome, { project, since, limit: EXAMINED, onProgress })
  const within = all.filter(({ time }) => since === undefined || (time ?? "") >= since)
  const examined = within.slice(0, EXAMINED)
  return { examined: examined.length, more: within.length > EXAMINED, kinds: totalOf(examined) }
}
