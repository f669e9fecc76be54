/** How often what restores show is used, and what showing it is worth. */
import type { Database } from "../archive/database.ts"
import { hasDisplays, sessionsToFollow, triedRestores, useCounts } from "../archive/queries/followed-uses.ts"
import { SLOT_KINDS, type SlotKind } from "../restore/slots.ts"
import { type Lift, liftOf, type Share, shareIn } from "./lift.ts"
import { trialsOf } from "./trials.ts"

export interface LearningReport {
  /** Those that arrived and were followed by work. */
  readonly restores: number
  readonly sessions: number
  /** Of what was shown, without what the context had anyway. */
  readonly kinds: Readonly<Record<SlotKind, Share>>
  readonly all: Share
  /** Null if nothing was ever left out by chance. */
  readonly lift: Lift | null
  /** Evidence for turns, from restores and answers: by kind, how often. */
  readonly uses: Readonly<Record<string, number>>
  /** Sessions that the background job has still to look at. */
  readonly waiting: number
}

/** @param project undefined: all projects */
export function learningReport(db: Database, project: number | undefined): LearningReport {
  const tried = triedRestores(db, project)
  const restores = tried.map((one) => trialsOf(one))
  const shown = restores.flat().filter((trial) => trial.shown)
  const kinds = SLOT_KINDS.map((kind) => [kind, shareIn(shown.filter((trial) => trial.kind === kind))])
  const waiting = sessionsToFollow(db).filter(
    (one) => (project === undefined || one.project === project) && hasDisplays(db, one.session),
  )
  return {
    restores: tried.length,
    sessions: new Set(tried.map(({ session }) => session)).size,
    kinds: Object.fromEntries(kinds) as LearningReport["kinds"],
    all: shareIn(shown),
    lift: liftOf(restores) ?? null,
    uses: useCounts(db, project),
    waiting: waiting.length,
  }
}
