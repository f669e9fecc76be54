/** Names of files as people read them: short at a terminal, and links where it has them; whole everywhere else. */
import { hostname } from "node:os"
import { withSlashes } from "../base/path.ts"
import type { Database } from "../views/database.ts"
import { folderOf, isInFolder } from "../views/project.ts"
import { projectNamer, projectPaths } from "../views/queries/projects.ts"
import { wholePath } from "./block.ts"
import type { Context } from "./command.ts"
import { cutPath } from "./style.ts"

/** @param room columns; a longer path is cut */
export type ShowPath = (path: string, room?: number) => string

interface Place {
  readonly cwd: string
  readonly home: string
}

/**
 * @param from the folder that short paths start from
 * @param db if it is given, paths in other projects start from these, and are followed by their names
 */
export function pathShower(
  { env, out }: Pick<Context, "env" | "out">,
  from = env.cwd,
  db?: Database,
): ShowPath {
  if (!out.terminal) return wholePath
  const host = out.links ? hostname() : undefined
  const named = db && projectNamer(db)
  const projects = (db === undefined ? [] : projectPaths(db))
    .filter((one) => folderOf(one) !== env.home)
    .sort((a, b) => folderOf(b).length - folderOf(a).length)
  const ownerOf = (path: string): string | undefined =>
    path.startsWith(`${from}/`) ? undefined : projects.find((one) => isInFolder(path, withSlashes(one)))
  return (path, room = Number.POSITIVE_INFINITY) => {
    const owner = ownerOf(path)
    const whose = owner === undefined ? "" : ` (${wholePath(named!(owner))})`
    const short =
      owner === undefined
        ? shortPath(path, { cwd: from, home: env.home })
        : path.slice(folderOf(owner).length + 1)
    const shown = cutPath(wholePath(short), room - whose.length) + whose
    return host === undefined || !path.startsWith("/") ? shown : linked(shown, fileUrl(path, host))
  }
}

/** Relative to the current folder if it is in there, else to the home folder as `~/…`, else whole. */
export function shortPath(path: string, { cwd, home }: Place): string {
  if (path === cwd) return "."
  if (cwd !== "/" && path.startsWith(`${cwd}/`)) return path.slice(cwd.length + 1)
  if (path === home) return "~"
  return home !== "/" && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

/**
 * With everything percent-encoded that is no name: the path is from an archive. The host name tells a terminal where it
 * is.
 */
export const fileUrl = (path: string, host: string): string =>
  `file://${encodeURIComponent(host)}${path.toWellFormed().split("/").map(encodeURIComponent).join("/")}`

/** OSC 8. Both must be harmless. */
const linked = (text: string, url: string): string => `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`
