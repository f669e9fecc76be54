/** Which project `--project` and `--all-projects` name: the one we stand in, unless told otherwise. */

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
