/** Which project `--project` and `--all-projects` name: the one we stand in, unless told otherwise. */

import type { Database } from "../archive/database.ts"
import { projectOf } from "../archive/project.ts"
import { usageError } from "../util/errors.ts"
import { existsSync, realpathSync } from "../util/fs.ts"
import { resolve } from "../util/path.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"

/** undefined: every project. */
export function projectWanted({ args, env }: Pick<Context, "args" | "env">): string | undefined {
  const path = stringArg(args, "project")
  if (args["all-projects"] === true) {
    if (path !== undefined) throw usageError("--project and --all-projects exclude each other")
    return undefined
  }
  // Where we stand is named without links by the system.
  if (path === undefined) return projectOf(env.cwd)
  const folder = resolve(env.cwd, path)
  return projectOf(existsSync(folder) ? realpathSync(folder) : folder)
}

/**
 * The same, as the archive names it: where a repository or worktree is gone, only its sessions tell whether a folder was
 * a git dir, or whose worktree it was.
 */
export function knownAs(db: Database, project: string | undefined): string | undefined {
  if (project === undefined) return undefined
  // Nearly always it is known by its name; looking through the sessions takes as long as a search.
  if (db.query("SELECT 1 FROM projects WHERE path = ?").get(project) !== null) return project
  const row = db
    .query<{ path: string }, [string]>(
      `SELECT path FROM (
         SELECT path, 0 AS place FROM projects WHERE path = ?1 || '/.git'
         UNION ALL SELECT p.path, 1 FROM sessions s JOIN projects p ON p.id = s.project WHERE s.cwd = ?1)
       ORDER BY place LIMIT 1`,
    )
    .get(project)
  return row?.path ?? project
}
