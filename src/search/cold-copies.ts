/** Chooses the copies that a search of the vault reads, and says what must not be read in them. */
import type { Database } from "../archive/database.ts"
import { allCopies } from "../archive/transcript-rows.ts"
import { sessionOfCopy } from "../archive/view-sources.ts"
import { forgottenPrompts } from "../vault/forgotten-prompts.ts"
import { isHistoryCopy, isOthersCopy, vaultFile } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { type Forgotten, forgottenOf } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import type { Narrowing } from "./narrowing.ts"

export interface ColdCopy {
  /** Below `vault/`. */
  readonly copy: string
  /** Absolute. */
  readonly file: string
  /** Bytes on disk. */
  readonly bytes: number
  readonly session: string
  /** Whether it holds prompts of many sessions: what the views know of them is all that is to be shown. */
  readonly isHistory: boolean
  /** Undefined when the views do not know the session. */
  readonly project: string | undefined
  /** Whether others may have written it. */
  readonly isOthers: boolean
  /** Blanks out what was forgotten but is still in the copy. */
  readonly edit: Forgotten["edit"] | undefined
}

/**
 * Copies that may match, latest session first.
 *
 * @param among only these
 */
export function coldCopies(
  db: Database,
  dataHome: string,
  { session, project }: Narrowing,
  among?: ReadonlySet<string>,
): ColdCopy[] {
  const known = new Map(allCopies(db).map((row) => [row.copy, row]))
  const found: (ColdCopy & { readonly ended: string })[] = []
  for (const { copy, bytes } of vaultFiles(dataHome)) {
    if (among?.has(copy) === false) continue
    const row = known.get(copy)
    const path = tailOf(vaultFile(dataHome, copy))?.header.path
    if (path === undefined) continue
    const own = row?.session ?? sessionOfCopy(dataHome, copy, path)
    if (session !== undefined && !isHistoryCopy(copy) && own !== session && !own.startsWith(`${session}/`))
      continue
    if (project !== undefined && row?.project != null && row.project !== project) continue
    const forgotten = isHistoryCopy(copy) ? forgottenPrompts(dataHome) : forgottenOf(dataHome, own, path)
    if (forgotten?.whole) continue
    found.push({
      copy,
      file: vaultFile(dataHome, copy),
      bytes,
      session: own,
      isHistory: isHistoryCopy(copy),
      project: row?.project ?? undefined,
      isOthers: isOthersCopy(copy),
      edit: forgotten?.edit,
      // A session that the views do not know yet is new.
      ended: row?.ended ?? "9999",
    })
  }
  return found.sort((a, b) => (a.ended < b.ended ? 1 : a.ended > b.ended ? -1 : 0))
}
