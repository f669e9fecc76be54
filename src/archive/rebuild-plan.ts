/** What `rebuild` would do. Reads the same, and writes nothing. */
import { messageOf } from "../util/errors.ts"
import { vaultFile } from "../vault/layout.ts"
import { stretchesFrom } from "../vault/reader.ts"
import { databasePath } from "./database.ts"
import type { RebuildReport } from "./rebuild-views.ts"
import { damageOf, refuseNewer } from "./replace-database.ts"
import { type Source, sources } from "./view-sources.ts"

/** @throws CtxError `newer-schema`, like `rebuild` */
export function planRebuild(
  dataHome: string,
  onProgress?: (done: number, total: number) => void,
): Pick<RebuildReport, "copies" | "unreadable" | "damaged"> {
  refuseNewer(databasePath(dataHome))
  const damaged = damageOf(dataHome) === undefined ? null : databasePath(dataHome)
  const all = sources(dataHome)
  const total = all.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  const unreadable = all.flatMap((one) => {
    const error = damageIn(dataHome, one)
    done += one.bytes
    onProgress?.(done, total)
    return error === undefined ? [] : [{ copy: one.copy, error: messageOf(error) }]
  })
  return { copies: all.length, unreadable, damaged }
}

/** Why a copy cannot be read to its end. */
function damageIn(dataHome: string, { copy }: Source): unknown {
  try {
    for (const _ of stretchesFrom(vaultFile(dataHome, copy), 0));
    return undefined
  } catch (error) {
    return error
  }
}
