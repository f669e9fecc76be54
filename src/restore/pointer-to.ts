/** Makes the pointer to where a session was left. */
import type { Database } from "../archive/database.ts"
import { findOpening } from "./find-opening.ts"
import { gatherBrief } from "./gather.ts"
import type { HostPlaces } from "./host-settings.ts"
import type { RelatedLine } from "./material.ts"
import { type PointerOptions, renderPointer } from "./pointer.ts"

export interface Pointing {
  /** `""` when the session has no turns. */
  readonly text: string
  readonly related: readonly RelatedLine[]
}

/** @param host whose files tell whether it has our server */
export function pointerTo(
  db: Database,
  session: string,
  host: HostPlaces,
  options: Pick<PointerOptions, "related" | "source">,
): Pointing {
  const brief = gatherBrief(db, session, { related: options.related })
  const opening = findOpening({ ...host, cwd: host.cwd ?? brief.cwd })
  return { text: renderPointer(brief, { ...options, opening }), related: brief.related }
}
