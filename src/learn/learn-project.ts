/** Learns what a project's restores should show first, and writes it where restores look (restore/project-weights.ts). */
import type { Database } from "../archive/database.ts"
import { triedRestores } from "../archive/queries/followed-uses.ts"
import { setLearned } from "../archive/queries/learned.ts"
import { trialsOf } from "./trials.ts"
import { weightsOf } from "./weights.ts"

export function learnProject(db: Database, project: number): void {
  db.transaction(() => {
    const trials = triedRestores(db, project).flatMap((restore) => trialsOf(restore))
    setLearned(db, project, weightsOf(trials))
  }).immediate()
}
