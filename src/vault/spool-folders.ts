/**
 * Where bytes go while the vault cannot be written: the state folder, else the temporary one. Each holds the same
 * format in the same layout.
 */
import { lstatSync, mkdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"

export interface SpoolPaths {
  readonly stateHome: string
  /** The folder for temporary files. */
  readonly temporary: string
}

const PRIVATE = 0o700
const OF_OTHERS = 0o077

const uid = (): number => process.getuid?.() ?? 0

/** All places, the best first. A hook may have been told of another temporary folder than a shell. */
export function spoolFolders({ stateHome, temporary }: SpoolPaths): string[] {
  const own = (folder: string): string => join(folder, `ctxbridge-${uid()}`, "spool")
  return [...new Set([join(stateHome, "spool"), own(temporary), own("/tmp")])]
}

/** Whether anything may be spooled: a look at each place, cheap enough for a hook. */
export function mayBeSpooled(paths: SpoolPaths): boolean {
  return spoolFolders(paths).some(exists)
}

function exists(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** The places that are there and ours. */
export const existingSpools = (paths: SpoolPaths): string[] => spoolFolders(paths).filter(isOurs)

/**
 * Makes the folder if need be.
 *
 * @returns whether it can be trusted: in a temporary folder, somebody else may have made it before us
 */
export function prepareSpool(folder: string): boolean {
  try {
    mkdirSync(dirname(dirname(folder)), { recursive: true, mode: PRIVATE })
    for (const one of [dirname(folder), folder]) {
      if (!exists(one)) mkdirSync(one, { mode: PRIVATE })
    }
  } catch {
    return false
  }
  return isOurs(folder)
}

/** No link, and nobody else's business: neither it nor, in a folder that all can write, the one around it. */
function isOurs(folder: string): boolean {
  const around = dirname(folder)
  return isPrivate(folder) && (!around.endsWith(`/ctxbridge-${uid()}`) || isPrivate(around))
}

function isPrivate(folder: string): boolean {
  try {
    const stats = lstatSync(folder)
    return stats.isDirectory() && stats.uid === uid() && (stats.mode & OF_OTHERS) === 0
  } catch {
    return false
  }
}
