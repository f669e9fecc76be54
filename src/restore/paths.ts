/** How paths are shown. Pure. */
import { withSlashes } from "../base/path.ts"

/** Shows paths inside the session's folder relative to it. */
export function belowFolder(cwd: string | undefined): (path: string) => string {
  const below = cwd === undefined ? undefined : `${withSlashes(cwd).replace(/\/$/, "")}/`
  return (path) => (below !== undefined && path.startsWith(below) ? path.slice(below.length) : path)
}

/** Folder and name identify a path, since summaries write it relative to many places. */
export const lastTwo = (path: string): string => path.split("/").slice(-2).join("/")
