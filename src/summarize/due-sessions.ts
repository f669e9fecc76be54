/** Which sessions have something that no model has read. */
import type { Database } from "../archive/database.ts"
import { isExcludedSession } from "../archive/excluded-session.ts"
import { isSummaryForgotten } from "../archive/kept-summaries.ts"
import type { Paths, Policy } from "../config/load.ts"
import { materialOf, type SessionMaterial } from "./session-material.ts"

interface DueOptions {
  readonly place: Pick<Paths, "dataHome" | "home"> & Policy
  /** Whether to read from the beginning what was read before. */
  readonly anew: boolean
  readonly most: number
}

/** In the order of `sessions`. Leaves out what the user wants neither archived nor summarised. */
export function dueSessions(
  db: Database,
  sessions: readonly string[],
  { place, anew, most }: DueOptions,
): SessionMaterial[] {
  const found: SessionMaterial[] = []
  for (const session of sessions) {
    if (found.length === most) break
    if (isExcludedSession(db, place, session)) continue
    if (isSummaryForgotten(place.dataHome, session)) continue
    const material = materialOf(db, session, { secrets: place.secrets, anew })
    if (material !== undefined) found.push(material)
  }
  return found
}
