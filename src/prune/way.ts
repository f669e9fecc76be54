/** What every way of pruning tells of itself, for `prune status`, `prune recommend` and `doctor`. */
import type { Config } from "../config/options.ts"
import type { PruneOptions } from "./prune-messages.ts"

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

/* The user's options for the pruning rule, in the rule's units. Pure. */

/** UTF-16 units of JSON in a token, about. */
export const UNITS_PER_TOKEN = 4

/** Moving the cut costs the API's cache, so it must save at least this share of the threshold. */
const LEAST_STEP = 0.5

export function pruneOptions(config: Config): PruneOptions {
  const threshold = config["prune.threshold"] * UNITS_PER_TOKEN
  return {
    keep: config["prune.keep"],
    maxChars: config["prune.max_chars"],
    results: config["prune.results"],
    threshold,
    step: threshold * LEAST_STEP,
  }
}
