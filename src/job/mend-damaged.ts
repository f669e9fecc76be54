/** Finds copies that were changed by somebody else or are known to be damaged, and mends them from their transcripts. */
import { sessionOf } from "../archive/capture-transcript.ts"
import { databasePath, withDatabase } from "../archive/database.ts"
import { isExcluded } from "../archive/excluded.ts"
import { markPending } from "../archive/pending.ts"
import { lacksAny } from "../archive/queries/transcripts.ts"
import { messageOf, throwBusy } from "../util/errors.ts"
import { tryTo } from "../util/files.ts"
import { existsSync } from "../util/fs.ts"
import { withCompactLock } from "../vault/compact-vault.ts"
import type { Tail } from "../vault/copy-file.ts"
import { isUntouched, readList } from "../vault/copy-list.ts"
import { knownOf } from "../vault/known-values.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { type Mended, mendCopy } from "../vault/mend-copy.ts"
import { tailOf } from "../vault/reader.ts"
import { setAsideIfDifferent } from "../vault/set-aside.ts"
import { type ImportPlace, patiently } from "./import-file.ts"
import { followCopies } from "./redact-archive.ts"
import { unwantedIn } from "./take-slice.ts"

interface MendedTranscript {
  readonly path: string
  /** Path of the copy below `vault/`. */
  readonly copy: string
  /** Bytes taken from the transcript again. */
  readonly bytes: number
}

export interface MendReport {
  readonly mended: readonly MendedTranscript[]
  /** Why a copy could not be looked at, by its transcript. */
  readonly failed: ReadonlyMap<string, string>
  /** How copies ended that were set aside, by their transcripts. */
  readonly former: ReadonlyMap<string, Tail>
  /** Why the views could not be made anew where they lack what was mended. */
  readonly viewsError: string | undefined
}

interface MendDamagedOptions {
  /** Looks at every copy, and sets those aside that differ from their transcripts or cannot be mended. */
  readonly check: boolean
  /** ms to wait for others. */
  readonly wait: number
  readonly onLook?: (n: number) => void
  /** Called while another process keeps this waiting; without it, that is an error after `wait`. */
  readonly onWait?: (() => void) | undefined
}

/** Call before the views are opened: where they lack what is mended, they are made anew. */
export function mendDamaged(
  place: ImportPlace,
  paths: readonly string[],
  { check, wait, onLook, onWait }: MendDamagedOptions,
): MendReport {
  const { dataHome, home } = place
  const listed = new Map([...readList(dataHome).copies.values()].map((one) => [one.copy, one]))
  const mended: MendedTranscript[] = []
  const failed = new Map<string, string>()
  const former = new Map<string, Tail>()
  const stale = new Set<string>()
  for (const [n, path] of paths.entries()) {
    const copy = vaultPath(path, home)
    const known = listed.get(copy)
    if (!check && (known === undefined || isUntouched(dataHome, known))) continue
    const file = vaultFile(dataHome, copy)
    try {
      onLook?.(n)
      if (!existsSync(path) || (known === undefined && !existsSync(file))) continue
      if (unwantedIn(place, path)?.whole === true || isExcluded(place, path)) continue
      const session = sessionOf(path)
      const options = {
        listed: known,
        secrets: place.secrets,
        known: knownOf(place, session, path),
        forgotten: () => unwantedIn(place, path),
        now: Date.now(),
      }
      const work = (): [Mended | undefined] => [mendCopy(file, path, options)]
      const [done] = patiently(
        onWait,
        () => withCompactLock(dataHome, wait, work) ?? throwBusy("another process is replacing copies"),
      )
      if (done?.state === "mended") {
        mended.push({ path, copy, bytes: done.gaps.reduce((sum, [from, to]) => sum + to - from, 0) })
        // Noted first: whoever comes next takes what the views have not followed yet.
        markPending(dataHome, { path, copy, session })
        if (lacks(dataHome, file, done)) stale.add(copy)
      } else if (check && done?.state !== "sound") {
        const tail = tailOf(file)
        if (setAsideIfDifferent(path, file, Date.now()) !== undefined && tail !== undefined)
          former.set(path, tail)
      }
    } catch (error) {
      // One copy that cannot be mended must not keep the others from it.
      failed.set(path, messageOf(error))
    }
  }
  return { mended, failed, former, viewsError: renewed(dataHome, stale, wait, onWait) }
}

/** Whether the views have gone on behind what could not be read. */
function lacks(dataHome: string, file: string, { gaps }: Mended): boolean {
  if (gaps.length === 0 || !existsSync(databasePath(dataHome))) return false
  const id = tailOf(file)?.header.id ?? ""
  const options = { wait: 1000, readonly: true, asItIs: true }
  return tryTo(() => withDatabase(dataHome, options, (db) => lacksAny(db, id, gaps))) ?? true
}

function renewed(
  dataHome: string,
  stale: ReadonlySet<string>,
  wait: number,
  onWait: (() => void) | undefined,
): string | undefined {
  if (stale.size === 0) return undefined
  try {
    patiently(onWait, () => followCopies(dataHome, stale, { now: Date.now(), wait }, "nothing"))
    return undefined
  } catch (error) {
    return `${messageOf(error)}: ctxbridge rebuild brings in what was mended`
  }
}
