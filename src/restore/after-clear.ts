/** What a session is given after `/clear`: as much as `restore.clear` says. */
import type { Database } from "../archive/database.ts"
import type { Config } from "../config/options.ts"
import type { Facts, RelatedLine } from "./material.ts"
import { pointerTo } from "./pointer-to.ts"
import { type RestoreOptions, restoreOf } from "./restore.ts"

export interface GivenAfterClear {
  readonly text: string
  /** Undefined unless facts were chosen from. */
  readonly facts: Facts | undefined
  readonly related: readonly RelatedLine[]
}

/** @param from the session that `/clear` ended */
export function afterClear(
  db: Database,
  from: string,
  how: Config["restore.clear"],
  options: Omit<RestoreOptions, "source" | "summary" | "host"> & {
    readonly host: NonNullable<RestoreOptions["host"]>
  },
): GivenAfterClear {
  if (how === "full") return restoreOf(db, from, { ...options, source: "clear", summary: "" })
  if (how === "off") return { text: "", facts: undefined, related: [] }
  return {
    ...pointerTo(db, from, options.host, { related: options.related, source: "clear" }),
    facts: undefined,
  }
}
