/**
 * Where bytes go while the vault cannot be written: the state folder, or else the temporary one. Both use its format
 * and layout.
 */

import { letsOthersIn } from "../base/files.ts"
import { existsSync, lstatSync, mkdirSync, rmdirSync } from "../base/fs.ts"
import { dirname } from "../base/path.ts"
import type { Paths } from "../config/load.ts"

type SpoolPaths = Pick<Paths, "dataHome" | "stateHome" | "temporary">

const PRIVATE = 0o700

const uid = (): number => process.getuid?.() ?? 0

/**
 * All places, best first. Each data folder has its own, because names repeat among them. A hook may have been given
 * another temporary folder than a shell.
 */
export function spoolFolders({ dataHome, stateHome, temporary }: SpoolPaths): string[] {
  const key = Bun.hash.xxHash64(dataHome, 0n).toString(16)
  // Not joined with `join`: hooks come here twice, and a function called thirty times gets compiled.
  const own = `ctxbridge-${uid()}/spool/${key}`
  const folders = [`${stateHome}/spool/${key}`, `${temporary}/${own}`]
  const last = `/tmp/${own}`
  return process.platform === "win32" || folders[1] === last ? folders : [...folders, last]
}

/** Whether anything may be spooled: one look at each place, cheap enough for a hook. */
export function mayBeSpooled(paths: SpoolPaths): boolean {
  for (const folder of spoolFolders(paths)) if (existsSync(folder)) return true
  return false
}

/** The places that exist and are ours. */
export const existingSpools = (paths: SpoolPaths): string[] => spoolFolders(paths).filter(isOurs)

/**
 * Creates the folder if necessary.
 *
 * @returns whether it can be trusted: in a temporary folder, somebody else may have created it first
 */
export function prepareSpool(folder: string): boolean {
  try {
    const folders = guarded(folder)
    mkdirSync(dirname(folders[0]!), { recursive: true, mode: PRIVATE })
    // One by one, so that nothing is created inside a folder that is not ours.
    return folders.every((one) => {
      if (!existsSync(one)) mkdirSync(one, { mode: PRIVATE })
      return isPrivate(one)
    })
  } catch {
    return false
  }
}

/** Whether this folder and those around it are real folders, ours, and closed to everybody else. */
const isOurs = (folder: string): boolean => guarded(folder).every(isPrivate)

/** The folder and those around it that are ours, outermost first. */
function guarded(folder: string): string[] {
  const spool = dirname(folder)
  const around = dirname(spool)
  return around.endsWith(`/ctxbridge-${uid()}`) ? [around, spool, folder] : [spool, folder]
}

function isPrivate(folder: string): boolean {
  try {
    const stats = lstatSync(folder)
    return stats.isDirectory() && stats.uid === uid() && !letsOthersIn(stats.mode)
  } catch {
    return false
  }
}

/** Removes the folder and those around it, as far as they are empty. */
export function removeEmptied(folder: string): void {
  for (const one of guarded(folder).reverse()) {
    try {
      rmdirSync(one)
    } catch {
      // It holds bytes of other data folders, or of a hook that is writing at this moment.
      return
    }
  }
}
