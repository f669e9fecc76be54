/** Folder patterns: `*` and `?` match within one name, `**` matches any number of folders. Pure. */

import { isOnDrive } from "./path.ts"

/** What Bun's globs know besides. */
const OTHER_SIGNS = /[[\]{}()!\\]/g

/** Whether the folder matches the pattern or lies below a match. Both are absolute paths. */
export function isWithin(pattern: string, folder: string): boolean {
  const names = namesOf(pattern)
  // What is below is within anyway, and so is the folder itself.
  while (names.at(-1) === "**") names.pop()
  const inside = namesOf(folder)
  if (names.length === 0 || inside.length === 0) return names.length === 0
  const glob = names.join("/").replace(OTHER_SIGNS, "\\$&")
  return new Bun.Glob(`/${glob}{,/**}`).match(`/${inside.join("/")}`)
}

/** The folders in the pattern before the first wildcard. */
export function literalStart(pattern: string): string {
  const names = namesOf(pattern)
  const first = names.findIndex((name) => /[*?]/.test(name))
  const start = names.slice(0, first < 0 ? names.length : first).join("/")
  // A drive's letter has nothing before it.
  return isOnDrive(start) ? start : `/${start}`
}

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "")
