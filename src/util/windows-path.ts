/**
 * Windows paths, written with slashes. Windows, the host's tools and its shell take both signs; copies, projects and
 * globs are compared with one. Pure.
 */
import type * as NodePath from "node:path"

/** A Windows path that may stand in any transcript. Texts that are none are unchanged. */
export const withSlashes = (path: string): string =>
  /^[A-Za-z]:[\\/]/.test(path) ? path.replace(/\\+/g, "/").replace(/^[a-z]/, upper) : path

const upper = (drive: string): string => drive.toUpperCase()

/** A path as Windows itself says it, where each backslash separates, also behind `\\server` and `\\?\`. */
export const fromWindows = (path: string): string =>
  path
    .replace(/^\\\\[?.]\\(?:UNC(\\))?(?=[^\\])/i, (_, unc) => (unc ? "\\\\" : ""))
    .replaceAll("\\", "/")
    .replace(/^[a-z](?=:)/, upper)

/** Absolute whatever the current drive is. */
export const isOnDrive = (path: string): boolean => /^(?:[A-Za-z]:[\\/]|[\\/]{2}[^\\/])/.test(path)

export type PathFunctions = Pick<
  typeof NodePath,
  "basename" | "dirname" | "isAbsolute" | "join" | "normalize" | "relative" | "resolve"
>

/** Node's functions for Windows, with slashes. */
export function slashing(win32: PathFunctions): PathFunctions {
  return {
    basename: (path, suffix) => win32.basename(path, suffix),
    dirname: (path) => fromWindows(win32.dirname(path)),
    isAbsolute: isOnDrive,
    join: (...parts) => fromWindows(win32.join(...parts)),
    normalize: (path) => fromWindows(win32.normalize(path)),
    relative: (from, to) => fromWindows(win32.relative(from, to)),
    resolve: (...parts) => fromWindows(win32.resolve(...parts)),
  }
}
