/**
 * Where bytes go while the vault cannot be written: the state folder, else the temporary one. Each holds the same
 * format in the same layout.
 */
import { existsSync, lstatSync, mkdirSync, rmdirSync } from "../util/fs.ts"
import { dirname } from "../util/path.ts"

export interface SpoolPaths {
  /** The data folder: each has a spool of its own, since names in it repeat. */
  readonly dataHome: string
  readonly stateHome: string
  /** The folder for temporary files. */
  readonly temporary: string
}

const PRIVATE = 0o700
const OF_OTHERS = 0o077

const uid = (): number => process.getuid?.() ?? 0

/** All places, the best first. A hook may have been told of another temporary folder than a shell. */
export function spoolFolders({ dataHome, stateHome, temporary }: SpoolPaths): string[] {
  const key = Bun.hash.xxHash64(dataHome, 0n).toString(16)
  // Not joined: hooks ask twice, and a function that they call thirty times is compiled.
  const own = `ctxbridge-${uid()}/spool/${key}`
  const folders = [`${stateHome}/spool/${key}`, `${temporary}/${own}`]
  const last = `/tmp/${own}`
  return folders[1] === last ? folders : [...folders, last]
}

/** Whether anything may be spooled: a look at each place, cheap enough for a hook. */
export function mayBeSpooled(paths: SpoolPaths): boolean {
  for (const folder of spoolFolders(paths)) if (existsSync(folder)) return true
  return false
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
    const folders = guarded(folder)
    mkdirSync(dirname(folders[0]!), { recursive: true, mode: PRIVATE })
    // One after the other: nothing is made inside a folder that is not ours.
    return folders.every((one) => {
      if (!existsSync(one)) mkdirSync(one, { mode: PRIVATE })
      return isPrivate(one)
    })
  } catch {
    return false
  }
}

/** No link, and nobody else's business; nor are the folders around it. */
const isOurs = (folder: string): boolean => guarded(folder).every(isPrivate)

/** The folder and those around it that are ours, the outermost first. */
function guarded(folder: string): string[] {
  const spool = dirname(folder)
  const around = dirname(spool)
  return around.endsWith(`/ctxbridge-${uid()}`) ? [around, spool, folder] : [spool, folder]
}

function isPrivate(folder: string): boolean {
  try {
    const stats = lstatSync(folder)
    return stats.isDirectory() && stats.uid === uid() && (stats.mode & OF_OTHERS) === 0
  } catch {
    return false
  }
}

/** Removes the place, and what is around it, as far as it is empty. */
export function removeEmptied(folder: string): void {
  for (const one of guarded(folder).reverse()) {
    try {
      rmdirSync(one)
    } catch {
      // Other data folders' bytes, or those of a hook that writes at this moment.
      return
    }
  }
}
