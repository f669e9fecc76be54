/** What every way of pruning tells of itself, for `prune status`, `prune recommend` and `doctor`. */
import type { Config } from "../config/options.ts"
import type { PruneOptions } from "./prune-messages.ts"

/** Of the user, and others for the proxy, with how they are set. */
export interface WayOptions {
  readonly rule: PruneOptions
  readonly proxy: PruneOptions
  readonly others: readonly { readonly setting: string; readonly options: PruneOptions }[]
}

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

/** Tokens that the proxy must save after a pause, when nothing is in the cache that could be lost. */
const AFTER_PAUSE = 2_000

/** What the proxy does: it knows when the request before was. */
export function proxyOptions(config: Config): PruneOptions {
  const options = pruneOptions(config)
  if (config["prune.when"] === "prompt") return options
  const threshold = AFTER_PAUSE * UNITS_PER_TOKEN
  return { ...options, afterPause: true, keepResults: 1, threshold, step: threshold * LEAST_STEP }
}

/** Settings of the proxy that are tried beside the user's. */
const TRIED = [
  ["prune.when", "pause"],
  ["prune.when", "prompt"],
  ["prune.keep", 1],
  ["prune.results", true],
] as const

/** What each way does by the user's options, and what the proxy would do by others. */
export const wayOptions = (config: Config): WayOptions => ({
  rule: pruneOptions(config),
  proxy: proxyOptions(config),
  others: TRIED.filter(([name, value]) => config[name] !== value).map(([name, value]) => ({
    setting: `${name} ${value}`,
    options: proxyOptions({ ...config, [name]: value }),
  })),
})

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

/** ms for which the API at least keeps what it was sent. */
export const cacheLifetime = (isForAnHour: boolean): number => (isForAnHour ? 3_600_000 : 300_000)
