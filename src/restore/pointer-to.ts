/** Makes the pointer to where a session was left. */
import type { Database } from "../archive/database.ts"
import { latestObservations } from "../archive/queries/summaries.ts"
import type { ClaudePlaces } from "../claude/settings/read-settings.ts"
import { findOpening } from "./find-opening.ts"
import { gatherBrief } from "./gather.ts"
import { type PointerOptions, renderPointer } from "./pointer.ts"
import type { Restore } from "./restore.ts"

/** More than there is room for. */
const MOST_OBSERVED = 8

/**
 * @param host whose files tell whether it has our server
 * @returns with a text of `""` when the session has no turns
 */
export function pointerTo(
  db: Database,
  session: string,
  host: ClaudePlaces,
  options: Pick<PointerOptions, "related" | "source">,
): Restore {
  const brief = gatherBrief(db, session, { related: options.related })
  const opening = findOpening({ ...host, cwd: host.cwd ?? brief.cwd })
  const observed = latestObservations(db, session, MOST_OBSERVED)
  return { text: renderPointer(brief, { ...options, opening, observed }), related: brief.related }
}
