/** When the views were last rebuilt because they were damaged or lost; for `status`. */
import { tryTo } from "../util/files.ts"
import { readJson, writeJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"

export interface ViewsRepair {
  /** ISO 8601. */
  readonly time: string
  readonly reason: string
  /** Where the damaged file was copied; null if there was none. */
  readonly damaged: string | null
  /** Turns in the views afterwards. */
  readonly turns: number
}

const fileOf = (dataHome: string): string => join(dataHome, "repair.json")

export function rememberRepair(dataHome: string, repair: ViewsRepair): void {
  // The views matter more than this record.
  tryTo(() => writeJson(fileOf(dataHome), repair))
}

export const lastRepair = (dataHome: string): ViewsRepair | undefined =>
  readJson(fileOf(dataHome)) as ViewsRepair | undefined
