/** The project meant by `--project`, `--all-projects` and `--session`; by default, that of the current folder. */
import { projectOf } from "../archive/project.ts"
import { usageError } from "../util/errors.ts"
import { existsSync, realpathSync } from "../util/fs.ts"
import { resolve } from "../util/path.ts"
import { stringArg } from "./args.ts"
import { type Context, flag, option } from "./command.ts"

/** The options, for commands that look for something in projects, and for those that list something of them. */
export const IN_PROJECT_ARGS = {
  project: option("In the project of this folder", "PATH"),
  "all-projects": flag("In every project"),
}
export const OF_PROJECT_ARGS = {
  project: option("Of the project in this folder", "PATH"),
  "all-projects": flag("Of every project"),
}

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
  return projectAt(resolve(env.cwd, path))
}

/** @param folder an absolute path; it may be a link, or not exist any more */
export const projectAt = (folder: string): string =>
  projectOf(existsSync(folder) ? realpathSync(folder) : folder)
