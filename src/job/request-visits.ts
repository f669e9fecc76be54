/** The transcripts that requests name: when they are looked at, and how often. */

import { promptHistories } from "../agents/agents.ts"
import type { Database } from "../archive/database.ts"
import { listVault } from "../archive/list-vault.ts"
import { isUnusable } from "../archive/schema-shape.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { codeOf } from "../util/errors.ts"
import { tryTo } from "../util/files.ts"
import { existsSync } from "../util/fs.ts"
import { logError } from "../util/log.ts"
import { vaultPath } from "../vault/layout.ts"
import { archiveAll } from "./archive-all.ts"
import { isQuiet, transcriptsBelow } from "./find-transcripts.ts"
import { historyOf } from "./history-import.ts"
import { noteImportDone } from "./import-done.ts"
import { type Accepted, finishRequest, type JobRequest } from "./requests.ts"
import { STOPPED } from "./stop-job.ts"

/** When to look, in ms after a request. With SETTLE, repeatedly: the host writes its last lines after its last hook. */
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
  const swept = request.sweep.flatMap((folder) => transcriptsBelow(folder))
  // Last, since of sessions whose transcripts are there it shows nothing.
  if (request.history) swept.push(...promptHistories(paths).filter(existsSync))
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
