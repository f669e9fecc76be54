/** Whether an archived session is of a folder that the user has excluded since. */
import type { Paths, Policy } from "../config/load.ts"
import type { Database } from "./database.ts"
import { isExcludedFolder } from "./excluded.ts"
import { projectOfSession } from "./queries/projects.ts"
import { aboutSession } from "./queries/sessions.ts"

/** By its folder or project. A subagent may work in another folder than its session. */
export function isExcludedSession(
  db: Database,
  place: Pick<Paths, "home"> & Pick<Policy, "exclude">,
  session: string,
): boolean {
  if (place.exclude.length === 0) return false
  const folders = [session, session.split("/", 1)[0]!].flatMap((one) => [
    aboutSession(db, one)?.cwd,
    projectOfSession(db, one)?.path,
  ])
  return folders.some((folder) => folder != null && isExcludedFolder(place, folder))
}
