/** Where our own program is, for whoever starts it again. */

import { fromSystem } from "./path.ts"

/** What Linux puts behind the path of a running program whose file has been replaced. */
const REPLACED = " (deleted)"

/** After an update, the new program is at the old one's path. */
export function ownProgram(path = process.execPath): string {
  return path.endsWith(REPLACED) ? path.slice(0, -REPLACED.length) : fromSystem(path)
}

/** Whether a path or a command's word names a program of ours, wherever it is. */
export const isOurBinary = (path: string): boolean => /(?:^|[\\/])ctxbridge(?:\.exe)?$/i.test(path)
