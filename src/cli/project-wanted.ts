/** Which project `--project` and `--all-projects` name: the one we stand in, unless told otherwise. */
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { projectOf } from "../archive/project.ts"
import { usageError } from "../util/errors.ts"
import { stringArg } from "./args.ts"
import type { Context } from "./command.ts"

/** undefined: every project. */
export function projectWanted({ args, env }: Pick<Context, "args" | "env">): string | undefined {
  const path = stringArg(args, "project")
  if (args["all-projects"] === true) {
    if (path !== undefined) throw usageError("--project and --all-projects exclude each other")
    return undefined
  }
  const folder = resolve(env.cwd, path ?? ".")
  return projectOf(existsSync(folder) ? realpathSync(folder) : folder)
}
