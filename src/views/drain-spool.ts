/** Moves the spool into the data folder once that can be written again. */
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync, unlinkSync } from "node:fs"
import { writeWhole } from "../base/files.ts"
import { renameSync } from "../base/fs.ts"
import { join, relative } from "../base/path.ts"
import { isAlive } from "../base/process-alive.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { joinPiece } from "../vault/join-piece.ts"
import { vaultFile, withoutVersion } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { existingSpools, mayBeSpooled, removeEmptied } from "../vault/spool-folders.ts"
import { forgottenOf, readTombstone } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { claimPending, listPending, markPending, type Pending, settlePending } from "./pending.ts"
import { changingSessions, sessionFile } from "./session-files.ts"
import { forgetReason, spooledStates } from "./spool.ts"
import { sessionOfCopy } from "./view-sources.ts"

interface Drained {
  /** Transcripts that were moved. The host may have written more since. */
  readonly transcripts: readonly string[]
  /** Pieces that stay, and why. */
  readonly left: readonly { readonly file: string; readonly reason: string; readonly error?: unknown }[]
}

/** ms to wait for a hook that is writing the same transcript. */
const PATIENCE = 1000

/**
 * @param end ms of performance.now() at which to stop
 * @returns undefined if there is no spool
 */
export function drainSpool(paths: PathsAndPolicy, end: number): Drained | undefined {
  if (!mayBeSpooled(paths)) return undefined
  const transcripts = new Set<string>()
  const left: Drained["left"][number][] = []
  for (const { folder, copy } of pieces(paths)) {
    const file = vaultFile(folder, copy)
    if (performance.now() >= end) {
      left.push({ file, reason: "no time left" })
      continue
    }
    try {
      const path = tailOf(file)?.header.path
      const joined = joinPiece(
        file,
        vaultFile(paths.dataHome, withoutVersion(copy)),
        waitUntil(),
        (of) => forgottenOf(paths.dataHome, sessionOfCopy(folder, copy, of), of),
        (grown, of) => mark(paths.dataHome, grown, of),
      )
      if (joined !== "joined") left.push({ file, reason: joined })
      else if (path !== undefined) transcripts.add(path)
    } catch (error) {
      left.push({ file, reason: "failed", error })
    }
  }
  for (const folder of existingSpools(paths)) moveRest(paths, folder)
  return { transcripts: [...transcripts], left }
}

const waitUntil = (): number => performance.now() + PATIENCE

/** Oldest first: a transcript's former content before its current one, and the pieces of a copy in their order. */
function pieces(paths: PathsAndPolicy): { folder: string; copy: string }[] {
  const found = existingSpools(paths).flatMap((folder) =>
    vaultFiles(folder).map(({ copy }) => {
      const tail = tailOf(vaultFile(folder, copy))
      return { folder, copy, created: tail?.header.created ?? 0, from: tail?.header.base?.to ?? 0 }
    }),
  )
  return found.sort((a, b) => a.created - b.created || a.from - b.from || (a.copy < b.copy ? -1 : 1))
}

function mark(dataHome: string, grown: string, path: string): void {
  const copy = relative(vaultFile(dataHome, ""), grown)
  markPending(dataHome, { path, copy, session: sessionOfCopy(dataHome, copy, path) })
}

/** Moves markers and states, then removes the folder, unless something is left. */
function moveRest(paths: PathsAndPolicy, folder: string): void {
  try {
    for (const pending of listPending(folder)) moveMarker(paths.dataHome, folder, pending)
    for (const { session, file } of spooledStates(folder)) moveState(paths.dataHome, session, file)
    if (vaultFiles(folder).length === 0) forgetReason(folder)
    for (const name of ["pending", "sessions"]) removeHalves(join(folder, name))
    for (const name of ["vault", "pending", "sessions"]) removeEmpty(join(folder, name))
    removeEmptied(folder)
  } catch {
    // It cannot be written yet, or a hook is writing here at this moment. The next call moves the rest.
  }
}

/** A hook may leave a marker at any moment. Claiming renames the present ones, so only these are removed afterwards. */
function moveMarker(dataHome: string, folder: string, pending: Pending): void {
  claimPending(folder, pending.copy)
  markPending(dataHome, pending)
  settlePending(folder, pending.copy)
}

/** Removes the spooled state only after it is in place, then also moves what a hook has written meanwhile. */
function moveState(dataHome: string, session: string, file: string): void {
  const own = sessionFile(dataHome, session)
  const known = statSync(own, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const moved = putState(dataHome, session, file, known)
  const taken = `${file}.${process.pid}`
  renameSync(file, taken)
  putState(dataHome, session, taken, moved)
  unlinkSync(taken)
}

/**
 * Puts a session's state in place if it was written later than `known`, in ms since the epoch.
 *
 * @returns when it was written
 */
function putState(dataHome: string, session: string, file: string, known: number): number {
  return changingSessions(dataHome, () => {
    const written = statSync(file).mtimeMs
    if (written > known && readTombstone(dataHome, session)?.whole !== true)
      writeWhole(sessionFile(dataHome, session), readFileSync(file, "utf8"))
    return written
  })
}

/** Removes what killed processes have left. A file whose hook is still running is about to be renamed. */
function removeHalves(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const pid = Number(name.slice(name.lastIndexOf(".") + 1))
    if (!name.endsWith(".json") && !isAlive(pid)) rmSync(join(folder, name), { force: true })
  }
}

/** Removes folders only, because a hook may put a file there at any moment. */
function removeEmpty(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) removeEmpty(join(folder, entry.name))
    }
    rmdirSync(folder)
  } catch {
    // It does not exist, or is not empty.
  }
}
