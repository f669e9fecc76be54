/** What a session is given after `/clear`: as much as `restore.clear` says. */

import type { Config } from "../config/options.ts"
import type { Database } from "../views/database.ts"
import { pointerTo } from "./pointer-to.ts"
import { type Restore, type RestoreOptions, restoreOf } from "./restore.ts"

/** @param from the session that `/clear` ended */
export function afterClear(
  db: Database,
  from: string,
  how: Config["restore.clear"],
  options: Omit<RestoreOptions, "source" | "summary" | "claude"> & {
    readonly claude: NonNullable<RestoreOptions["claude"]>
  },
): Restore {
  if (how === "full") return restoreOf(db, from, { ...options, source: "clear", summary: "" })
  if (how === "off") return { text: "", related: [] }
  return pointerTo(db, from, options.claude, {
    related: options.related,
    source: "clear",
    passed: options.passed,
  })
}
