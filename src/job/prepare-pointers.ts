/** Renders what the next session of a project will be told, so that its start need not open the database. */

import type { Paths } from "../config/load.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import type { Database } from "../views/database.ts"
import { readPointer, writePointer } from "../views/pointers.ts"
import { folderOf } from "../views/project.ts"
import { latestProjects } from "../views/queries/projects.ts"
import { latestSession } from "../views/queries/sessions.ts"

type PointerPlaces = Pick<Paths, "home" | "dataHome" | "claudeDir" | "claudeConfig">

/** Only the projects with the latest sessions. Others are started rarely and render their own. */
const MOST = 8

/** @param related `restore.related`; a project with another setting renders its own pointer */
export function preparePointers(db: Database, places: PointerPlaces, related: number): void {
  const { dataHome } = places
  for (const path of latestProjects(db, MOST)) {
    if (readPointer(dataHome, path) !== undefined) continue
    // The transaction keeps others from indexing.
    db.transaction(() => {
      const session = latestSession(db, path, "", "any")
      if (session === undefined) return
      const { text } = pointerTo(db, session, { ...places, cwd: folderOf(path) }, { related })
      writePointer(dataHome, path, { session, text, related })
    }).immediate()
  }
}
