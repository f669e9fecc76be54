/** What `rebuild` would do. Reads the same, and writes nothing. */
import { messageOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { vaultFile } from "../vault/layout.ts"
import { type Gap, stretchesFrom } from "../vault/reader.ts"
import { databasePath } from "./database.ts"
import { open } from "./open.ts"
import { missingIn, type RebuildReport } from "./rebuild-views.ts"
import { damageOf, refuseNewer } from "./replace-database.ts"
import { sources } from "./view-sources.ts"

/** @throws CtxError `newer-schema`, like `rebuild` */
export function planRebuild(
  dataHome: string,
  onProgress?: (done: number, total: number) => void,
): Pick<RebuildReport, "copies" | "unreadable" | "gaps" | "missing" | "damaged"> {
  refuseNewer(databasePath(dataHome))
  const damaged = damageOf(dataHome) === undefined ? null : databasePath(dataHome)
  const all = sources(dataHome)
  const total = all.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  const unreadable: { copy: string; error: string }[] = []
  const gaps: { copy: string; from: number; to: number; error: string }[] = []
  for (const { copy, bytes } of all) {
    const error = damageIn(dataHome, copy, (gap) => gaps.push({ copy, ...gap }))
    if (error !== undefined) unreadable.push({ copy, error: messageOf(error) })
    done += bytes
    onProgress?.(done, total)
  }
  const missing = damaged === null ? (readIfThere(dataHome) ?? []) : []
  return { copies: all.length, unreadable, gaps, missing, damaged }
}

/** The views as they are know what they would keep. */
const readIfThere = (dataHome: string): RebuildReport["missing"] | undefined =>
  tryTo(() => {
    using db = open(dataHome, "look")
    return missingIn(db, dataHome)
  })

/** Why a copy cannot be read to its end. */
function damageIn(dataHome: string, copy: string, onGap: (gap: Gap) => void): unknown {
  let expected = 0
  try {
    for (const { from, content } of stretchesFrom(vaultFile(dataHome, copy), 0, (gap) => {
      onGap(gap)
      expected = gap.to
    })) {
      if (from > expected) onGap({ from: expected, to: from, error: "it is not there" })
      expected = from + content.length
    }
    return undefined
  } catch (error) {
    return error
  }
}
