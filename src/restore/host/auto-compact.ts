/** What the host's files say of whether it compacts by itself. */
import type { HostLimits } from "../../config/load.ts"
import { booleanOr, type HostPlaces, hostSettings } from "./host-settings.ts"
import { hostState } from "./host-state.ts"

export function autoCompactIn(places: HostPlaces): NonNullable<HostLimits["autoCompact"]> {
  const state = booleanOr(hostState(places).fields["autoCompactEnabled"])
  const settings = hostSettings(places).autoCompact
  return { ...(state === undefined ? {} : { state }), ...(settings === undefined ? {} : { settings }) }
}
