/** The user's options for the pruning rule, in the rule's units. Pure. */
import type { Config } from "../config/options.ts"
import type { PruneOptions } from "../prune/prune-messages.ts"

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
