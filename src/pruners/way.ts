/** What every way of pruning tells of itself, for `prune status`, `prune recommend` and `doctor`. */

/** Safest first. */
export const WAYS = ["native", "plugin", "proxy", "patch"] as const
export type WayName = (typeof WAYS)[number]

export interface WayState {
  readonly way: WayName
  /** Why this program cannot be pruned in this way; undefined: it can. */
  readonly unsupported?: string
  readonly isActive: boolean
  /** What of it is noteworthy: where it is set; of one that is not active, what is wrong with it. A sentence. */
  readonly detail?: string
  /** What is wrong with it though it is active. A sentence. */
  readonly problem?: string
}
