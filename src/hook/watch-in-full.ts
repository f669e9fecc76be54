/**
 * How full the window is by all that is known. The host's files may switch off its own compactions; they are read only
 * when something is to be told.
 */

import { autoCompactIn } from "../claude/settings/read-settings.ts"
import { hostLimits } from "../config/load.ts"
import { type Watched, type WatchedCall, watchContext } from "./watch-context.ts"

export function watchInFull(call: WatchedCall): Watched | undefined {
  const autoCompact = autoCompactIn({ ...call.settings.paths, cwd: call.event.cwd })
  return watchContext({ ...call, limits: { ...hostLimits(), autoCompact } })
}
