/** Archives transcripts and brings the views up to date with them, slice by slice. */

import { placeBeside } from "../agents/layouts.ts"
import type { Taken } from "../archive/capture-transcript.ts"
import type { Database } from "../archive/database.ts"
import { isExcluded } from "../archive/excluded.ts"
import { besideTranscript } from "../archive/files-beside.ts"
import { doubting, index, untilDone } from "../archive/indexing.ts"
import { isPending, type Pending, settlePending } from "../archive/pending.ts"
import type { Paths, Policy } from "../config/load.ts"
import { takeSlice } from "./take-slice.ts"

/** Maximum ms of work between two commits. */
const SLICE = 300

interface ArchiveOptions {
  readonly lastLine?: "whole" | "any"
  /** Called after each commit with the number of the transcript's bytes in the vault. */
  readonly onProgress?: (archived: number) => void
}

/**
 * Archives one whole transcript and the files beside it, slice by slice, into the vault and the views.
 *
 * @param end when to stop, in ms of performance.now(); what is done by then is committed
 */
export function archiveAll(
  db: Database,
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
  end: number,
  { lastLine = "whole", onProgress }: ArchiveOptions = {},
): void {
  if (isExcluded(paths, path)) return
  const all = [path, ...besideTranscript(path)]
  for (const one of all) {
    const last = placeBeside(one) === undefined ? lastLine : "any"
    archiveOne(db, paths, one, end, { lastLine: last, onProgress })
    if (one !== path && performance.now() >= end) return
  }
}

function archiveOne(
  db: Database,
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
  end: number,
  { lastLine = "whole", onProgress }: { readonly [K in keyof ArchiveOptions]: ArchiveOptions[K] | undefined },
): void {
  for (;;) {
    const taken = takeSlice(paths, path, lastLine, SLICE)
    const { captured } = taken
    if (captured.id === undefined) return
    if (captured.taken === 0 && !isPending(paths.dataHome, taken.copy)) return
    indexTaken(db, paths.dataHome, taken, end, () => onProgress?.(captured.archived))
    if (captured.state !== "behind" || performance.now() >= end) return
  }
}

/** What to index; where it was taken just now, with what is still in memory of it. */
export type Indexed = Pending & Partial<Pick<Taken, "captured" | "fresh">>

/**
 * Brings the views up to date with one copy, slice by slice.
 *
 * @param end when to stop, in ms of performance.now(); what is done by then is committed
 * @param onSlice called after each commit
 */
export function indexTaken(
  db: Database,
  dataHome: string,
  taken: Indexed,
  end: number,
  onSlice: () => void,
): void {
  for (let last = -1; ; ) {
    const stop = Math.min(end, performance.now() + SLICE)
    const row = db
      .transaction(() => index(db, dataHome, taken, untilDone(stop), taken.fresh, doubting(dataHome)))
      .immediate()
    settlePending(dataHome, taken.copy)
    onSlice()
    // No progress: only an unfinished line is left.
    if (row === undefined || row.indexed >= row.archived || row.indexed === last) return
    if (performance.now() >= end) return
    last = row.indexed
  }
}
