/**
 * The functions of node:path that hooks need, without node:path, which costs 0.3 ms to load (docs/adr/0013). They
 * handle ordinary paths; paths that need normalising, and other systems, are passed on to node:path. On Windows, what
 * they return is written with slashes (docs/adr/0031).
 */
import type * as NodePath from "node:path"

const node = (): PathFunctions => {
  const { posix, win32 } = process.getBuiltinModule("node:path")
  return process.platform !== "win32" ? posix : slashing(win32)
}

/** A path that the system or a variable says, as we write it. */
export const fromSystem = (path: string): string => (process.platform !== "win32" ? path : fromWindows(path))

export const currentFolder = (): string => fromSystem(process.cwd())

/** Whether `normalize` would leave the path unchanged. */
const isNormal = (path: string): boolean =>
  process.platform !== "win32" &&
  path !== "" &&
  !path.includes("//") &&
  !path.includes("/./") &&
  !path.includes("/../") &&
  !path.endsWith("/.") &&
  !path.endsWith("/..") &&
  !path.startsWith("./")

export function join(...parts: string[]): string {
  // The root already ends with a slash.
  const joined = parts[0] === "/" ? parts.join("/").slice(1) : parts.join("/")
  return !parts.includes("") && isNormal(joined) ? joined : node().join(...parts)
}

export const normalize = (path: string): string => (isNormal(path) ? path : node().normalize(path))

export function dirname(path: string): string {
  if (path === "/") return path
  const slash = path.lastIndexOf("/")
  const isPlain =
    process.platform !== "win32" && slash >= 0 && slash < path.length - 1 && path[slash - 1] !== "/"
  return isPlain ? path.slice(0, slash) || "/" : node().dirname(path)
}

export function basename(path: string, suffix?: string): string {
  return process.platform !== "win32" && path !== "" && suffix === undefined && !path.endsWith("/")
    ? path.slice(path.lastIndexOf("/") + 1)
    : node().basename(path, suffix)
}

export const isAbsolute = (path: string): boolean =>
  process.platform !== "win32" ? path.startsWith("/") : node().isAbsolute(path)

export function resolve(...parts: string[]): string {
  let path = ""
  // Parts before an absolute path do not count.
  for (let n = parts.length - 1; n >= 0 && !path.startsWith("/"); n--) {
    if (parts[n] === "") return node().resolve(...parts)
    path = path === "" ? parts[n]! : `${parts[n]}/${path}`
  }
  return path.startsWith("/") && !path.endsWith("/") && isNormal(path) ? path : node().resolve(...parts)
}

// Rarely needed by a hook.
export const relative = (from: string, to: string): string => node().relative(from, to)

/*
 * Windows paths, written with slashes. Windows, Claude Code's tools and its shell take both signs; copies, projects and
 * globs are compared with one. Pure.
 */

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

type PathFunctions = Pick<
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
