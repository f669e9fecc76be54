/** When the views were last rebuilt because they were damaged or lost; for `status`. */

import { writeWhole } from "../util/files.ts"
import { readFileSync } from "../util/fs.ts"
import { join } from "../util/path.ts"

export interface Repair {
  /** ISO 8601. */
  readonly time: string
  readonly reason: string
  /** Where the damaged file was copied; null if there was none. */
  readonly damaged: string | null
  /** Turns in the views afterwards. */
  readonly turns: number
}

const fileOf = (dataHome: string): string => join(dataHome, "repair.json")

export function rememberRepair(dataHome: string, repair: Repair): void {
  try {
    writeWhole(fileOf(dataHome), JSON.stringify(repair))
  } catch {
    // The views matter more than this record.
  }
}

export function lastRepair(dataHome: string): Repair | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(dataHome), "utf8")) as Repair
  } catch {
    return undefined
  }
}
