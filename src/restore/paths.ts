/** How paths are told. Pure. */
import { withSlashes } from "../transcript/windows-path.ts"

/** Paths below the session's folder are told from there. */
export function belowFolder(cwd: string | undefined): (path: string) => string {
  const below = cwd === undefined ? undefined : `${withSlashes(cwd).replace(/\/$/, "")}/`
  return (path) => (below !== undefined && path.startsWith(below) ? path.slice(below.length) : path)
}

/** By its folder and name a path is known: summaries tell it from many places. */
export const lastTwo = (path: string): string => path.split("/").slice(-2).join("/")
