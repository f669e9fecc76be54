/**
 * Stands for filter.ts and clock.ts in the module that hooks load at their start (build/hook.ts). The filter is a module
 * of its own, so its rules do not count towards what a hook must read before it knows what it was called for.
 */
import type { filter as whole } from "./for-hooks.ts"

type Filter = typeof whole

let filter: Filter | undefined

export let FILTERED: Filter["FILTERED"]
export let FILLER: Filter["FILLER"]

/** Must have ended before any of the functions is called; otherwise they throw, and nothing unfiltered is written. */
export async function loadFilter(): Promise<void> {
  ;({ filter } = await import("../../dist/filter/for-hooks.js"))
  ;({ FILTERED, FILLER } = loaded())
}

export const filterLines: Filter["filterLines"] = (...args) => loaded().filterLines(...args)
export const filterText: Filter["filterText"] = (...args) => loaded().filterText(...args)
export const searchUntil: Filter["searchUntil"] = (until, search) => loaded().searchUntil(until, search)

function loaded(): Filter {
  if (filter === undefined) throw new Error("the filter for secrets is not loaded yet")
  return filter
}
