/** Finds out whether a restore has reached the conversation. Loaded only while that is unknown. */

import type { Taken } from "../archive/capture-transcript.ts"
import { type Outcome, outcomeIn } from "../claude/context-arrived.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"
import type { Delivery } from "./state.ts"

/** A restore shows within this many bytes after it was given. Past them we stop looking, and do not give it again. */
const LOOKED_AT = 2 << 20

/** @param own the session's transcript */
export function outcomeOf({ at, time }: Delivery, { path, captured }: Taken): Outcome {
  if (captured.superseded !== undefined) return "unknown"
  const found = withSource(path, (fd, size) => {
    if (size < at) return "unknown"
    const outcome = outcomeIn(readExactly(fd, at, Math.min(size - at, LOOKED_AT)), time)
    return outcome === "open" && size - at > LOOKED_AT ? "unknown" : outcome
  })
  return found ?? "open"
}
