/** The transcripts that requests name: when they are looked at, and how often. */
import { promptHistories, silentFolders } from "../agents/agents.ts"
import { isMade, placeBeside } from "../agents/layouts.ts"
import { codeOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { existsSync } from "../base/fs.ts"
import { logError } from "../base/log.ts"
import type { Paths, PathsAndPolicy, Policy } from "../config/load.ts"
import type { Taken } from "../vault/capture.ts"
import { besideTranscript } from "../vault/files-beside.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { isPending, type Pending, settlePending } from "../vault/pending.ts"
import { archivedIn } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { isExcluded } from "../views/excluded.ts"
import { doubting, index, untilDone } from "../views/indexing.ts"
import { listVault } from "../views/list-vault.ts"
import { isUnusable } from "../views/schema-shape.ts"
import { isQuiet, oneForEachCopy, type TranscriptFile, transcriptFilesBelow } from "./find-transcripts.ts"
import { historyOf } from "./history-import.ts"
import { hasNews } from "./import/taken-made.ts"
import { noteImportDone } from "./import-done.ts"
import { takeSlice } from "./import-file.ts"
import { type Accepted, finishRequest, type JobRequest, STOPPED } from "./requests.ts"

/**
 * When to look, in ms after a request. With SETTLE, repeatedly: Claude Code writes its last lines after its last hook.
 */
const ONCE = [0] as const
const SETTLE = [0, 150, 500, 1500, 4000] as const

export interface Visit extends Accepted {
  /** ms of performance.now(). */
  readonly since: number
  readonly looks: readonly number[]
}

export const visitOf = (accepted: Accepted, since: number): Visit => ({
  ...accepted,
  since,
  looks: accepted.request.settle ? SETTLE : ONCE,
})

/** A request of our own, without a file. */
export const ownVisit = (transcripts: readonly string[]): Visit => ({
  request: { transcripts, sweep: [], settle: false },
  file: "",
  since: 0,
  looks: ONCE,
})

/** Looks if a look is due, and returns what remains of the visit. */
export function pay(
  db: Database,
  paths: PathsAndPolicy,
  visit: Visit,
  now: number,
  end: number,
  goOn: () => void,
): Visit[] {
  const [due, ...later] = visit.looks
  if (due === undefined || now < visit.since + due) return [visit]
  // Ran out of time: the next job finds the request.
  if (!look(db, paths, visit.request, end, goOn)) return [visit]
  if (later.length > 0) return [{ ...visit, looks: later }]
  // Noted first: if we are killed in between, it is said again.
  if (visit.request.history) noteImportDone(paths.dataHome, historyOf(paths))
  finishRequest(visit)
  return []
}

/** @returns whether there was time to look at everything */
function look(
  db: Database,
  paths: PathsAndPolicy,
  request: JobRequest,
  end: number,
  goOn: () => void,
): boolean {
  const below = request.sweep.flatMap((folder) => transcriptFilesBelow(folder))
  const found = oneForEachCopy(below, paths.home)
  const swept = found.filter((one) => !isMade(one.path) || isGrown(paths, one)).map(({ path }) => path)
  // Last, since of sessions whose transcripts are there it shows nothing.
  if (request.history) swept.push(...promptHistories(paths).filter(existsSync))
  else if (request.sweep.length > 0) swept.push(...grown(paths))
  const wanted = new Set([...request.transcripts, ...swept])
  try {
    return archiveEach(db, paths, wanted, request, end, goOn)
  } finally {
    tryTo(() =>
      listVault(
        paths.dataHome,
        [...wanted].map((path) => vaultPath(path, paths.home)),
      ),
    )
  }
}

/** Transcripts of agents without hooks of ours that have bytes which the vault lacks. */
const grown = (paths: PathsAndPolicy): string[] =>
  oneForEachCopy(
    silentFolders(paths).flatMap((folder) => transcriptFilesBelow(folder)),
    paths.home,
  )
    .filter((one) => isGrown(paths, one))
    .map(({ path }) => path)

const isGrown = (paths: PathsAndPolicy, { path, bytes, changed }: TranscriptFile): boolean =>
  isMade(path)
    ? hasNews(paths, path, changed)
    : bytes > archivedIn(vaultFile(paths.dataHome, vaultPath(path, paths.home)))

function archiveEach(
  db: Database,
  paths: PathsAndPolicy,
  wanted: ReadonlySet<string>,
  request: JobRequest,
  end: number,
  goOn: () => void,
): boolean {
  for (const path of wanted) {
    if (performance.now() >= end) return false
    goOn()
    try {
      const lastLine = request.history && isQuiet(path) ? "any" : "whole"
      archiveAll(db, paths, path, end, { lastLine, onProgress: goOn })
    } catch (error) {
      if (codeOf(error) === STOPPED || isUnusable(paths.dataHome, error, db)) throw error
      // One unreadable file must not block the others.
      logError(paths.stateHome, { event: "job", error })
    }
  }
  return performance.now() < end
}

/* Archives transcripts and brings the views up to date with them, slice by slice. */

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
  // What a transcript is made of says what folder it is of.
  if (!isMade(path) && isExcluded(paths, path)) return
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
