/** Which project the host that started the server works in. */
import { existsSync, realpathSync } from "node:fs"
import { projectOf } from "../archive/project.ts"
import type { World } from "./tool.ts"

export function projectIn({ folder }: World): string {
  return projectOf(existsSync(folder) ? realpathSync(folder) : folder)
}
