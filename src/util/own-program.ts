/** Where our own program is, for whoever starts it again. */

import { fromSystem } from "./path.ts"

/** What Linux puts behind the path of a running program whose file has been replaced. */
const REPLACED = " (deleted)"

/** After an update, the new program is at the old one's path. */
export function ownProgram(path = process.execPath): string {
  return path.endsWith(REPLACED) ? path.slice(0, -REPLACED.length) : fromSystem(path)
}
