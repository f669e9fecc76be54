/** The project meant by `--project`, `--all-projects` and `--session`; by default, that of the current folder. */

import type { Database } from "../archive/database.ts"
import { projectOf } from "../archive/project.ts"
import { usageError } from "../util/errors.ts"
import { existsSync, realpathSync } from "../util/fs.ts"
import { resolve } from "../util/path.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"

/** Returns undefined for every project. A session is looked for in all, unless a project is named as well. */
export function projectWanted({ args, env }: Pick<Context, "args" | "env">): string | undefined {
  const path = stringArg(args, "project")
  if (args["all-projects"] === true) {
    if (path !== undefined) throw usageError("--project and --all-projects exclude each other")
    return undefined
  }
  if (path === undefined && stringArg(args, "session") !== undefined) return undefined
  // The system reports the current folder with links already resolved.
  if (path === undefined) return projectOf(env.cwd)
  const folder = resolve(env.cwd, path)
  return projectOf(existsSync(folder) ? realpathSync(folder) : folder)
}

/**
 * The project under the name that the archive uses. If a repository or worktree is gone, only its sessions tell whether
 * the folder had a git dir, or whose worktree it was.
 */
export function knownAs(db: Database, project: string | undefined): string | undefined {
  if (project === undefined) return undefined
  // The name is nearly always known. Looking through the sessions takes as long as a search.
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
