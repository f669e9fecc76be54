/** Which way of pruning is recommended for a program: the safest that works. Pure. */
import type { ClientWays } from "./prune-report.ts"
import type { WayName, WayState } from "./way.ts"

export interface Recommended {
  readonly way: WayName
  readonly isActive: boolean
  /** The safer ways, and why each does not work. */
  readonly passed: readonly { readonly way: WayName; readonly why: string }[]
}

/** @returns undefined if none works */
export function pickWay({ ways }: Pick<ClientWays, "ways">): Recommended | undefined {
  const at = ways.findIndex(({ unsupported }) => unsupported === undefined)
  const found = ways[at]
  return found && { way: found.way, isActive: found.isActive, passed: ways.slice(0, at).map(passedOver) }
}

const passedOver = ({ way, unsupported = "" }: WayState) => ({ way, why: unsupported })
