/** What each way would have saved in the user's latest sessions. */
import type { Database } from "../archive/database.ts"
import type { PruneOptions } from "../prune/prune-messages.ts"
import type { WayName } from "./way.ts"

export interface Savings {
  readonly session: string
  readonly title: string
  /** Of its context at its largest. */
  readonly tokens: number
  readonly saved: Readonly<Record<WayName, number | undefined>>
}

export function recentSavings(
  _db: Database,
  _dataHome: string,
  _options: PruneOptions,
  _sessions: number,
): Savings[] {
  return []
}
