/** Names of files as people read them: short at a terminal, and links where it has them; whole everywhere else. */
import { hostname } from "node:os"
import { wholePath } from "./block.ts"
import type { Context } from "./command.ts"

/** @param room columns; of a longer path the end is shown */
export type ShowPath = (path: string, room?: number) => string

interface Place {
  readonly cwd: string
  readonly home: string
}

/** @param from the folder that short paths start from */
export function pathShower({ env, out }: Pick<Context, "env" | "out">, from = env.cwd): ShowPath {
  if (!out.terminal) return wholePath
  const host = out.links ? hostname() : undefined
  return (path, room = Number.POSITIVE_INFINITY) => {
    const whole = wholePath(shortPath(path, { cwd: from, home: env.home }))
    const shown = Bun.stringWidth(whole) <= room ? whole : `…${Bun.sliceAnsi(whole, 1 - room)}`
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
