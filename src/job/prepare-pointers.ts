/**
 * Renders what hooks tell without opening the database: where a project was left, for the start of its next session, and
 * what failed in it, for before it is done again.
 */

import type { Paths } from "../config/load.ts"
import { FailedBefore } from "../restore/failed-before.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import { changesSeen, type Database } from "../views/database.ts"
import { readLabels } from "../views/labels.ts"
import { readPointer, writePointer } from "../views/pointers.ts"
import { folderOf } from "../views/project.ts"
import { actionsIn } from "../views/queries/calls.ts"
import { latestProjects } from "../views/queries/projects.ts"
import { latestSession } from "../views/queries/sessions.ts"
import { writeReminders } from "../views/reminders.ts"

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

/** The latest commands and edits of a project that are looked at. */
const ACTIONS = 2000

/**
 * Hooks may have to write meanwhile, and this takes longer than they should wait. So what was made of views that have
 * changed since, perhaps because something was forgotten, is not kept: the job comes again.
 *
 * @param goOn throws when the job is to end
 */
export function prepareReminders(db: Database, dataHome: string, goOn: () => void): void {
  for (const path of latestProjects(db, MOST)) {
    goOn()
    const read = changesSeen(db)
    const failed = new FailedBefore(path)
    const labels = readLabels(dataHome)
    for (const action of actionsIn(db, path, ACTIONS))
      failed.add(action, labels.verdictOn(action.handle) !== undefined)
    const reminders = failed.reminders()
    db.transaction(() => {
      if (changesSeen(db) === read) writeReminders(dataHome, path, reminders)
    }).immediate()
  }
}
