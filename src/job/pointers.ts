/** Renders what the next session of a project will be told, so that its start need not open the database. */
import type { Database } from "../archive/database.ts"
import { dropPointers, readPointer, writePointer } from "../archive/pointers.ts"
import { gatherBrief } from "../restore/gather.ts"
import { renderPointer } from "../restore/pointer.ts"
import { latestSession } from "../restore/scope.ts"

/** Projects with the latest sessions: others will be started seldom, and render their own. */
const MOST = 8

/** @param related `restore.related`: a project that sets another renders its own */
export function preparePointers(db: Database, dataHome: string, related: number): void {
  const projects = db
    .query<{ path: string }, []>(
      `SELECT p.path FROM sessions s JOIN projects p ON p.id = s.project
       WHERE s.parent IS NULL GROUP BY p.id ORDER BY max(s.ended) DESC LIMIT ${MOST}`,
    )
    .all()
  const seen = versionOf(db)
  for (const { path } of projects) {
    if (readPointer(dataHome, path) !== undefined) continue
    const session = latestSession(db, path, "")
    if (session === undefined) continue
    const text = renderPointer(gatherBrief(db, session, { related }), related)
    writePointer(dataHome, path, { session, text, related })
  }
  // Who has indexed meanwhile may have taken them away before they were written.
  if (versionOf(db) !== seen) dropPointers(dataHome)
}

/** Another number when somebody else has changed the database. */
const versionOf = (db: Database): number =>
  db.query<{ data_version: number }, []>("PRAGMA data_version").get()!.data_version
