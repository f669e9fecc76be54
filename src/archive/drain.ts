/** Empties the spool into the data folder, once that can be written again. */
import { readdirSync, readFileSync, rmdirSync, rmSync, statSync, unlinkSync } from "node:fs"
import { join, relative } from "node:path"
import type { Paths } from "../config/load.ts"
import { writeWhole } from "../util/files.ts"
import { joinPiece } from "../vault/join.ts"
import { vaultFile, withoutVersion } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { existingSpools, mayBeSpooled, removeEmptied } from "../vault/spool-folders.ts"
import { forgottenOf, readTombstone } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/walk.ts"
import { listPending, markPending } from "./pending.ts"
import { sessionOfCopy } from "./source.ts"
import { forgetReason, spooledStates } from "./spool.ts"

export interface Drained {
  /** Transcripts that have moved over. The host may have written more since. */
  readonly transcripts: readonly string[]
  /** Pieces that stay, and why. */
  readonly left: readonly { readonly file: string; readonly reason: string; readonly error?: unknown }[]
}

/** ms to wait for a hook that writes the same transcript. */
const PATIENCE = 1000

/**
 * @param end ms of performance.now() at which to stop
 * @returns undefined when there is no spool
 */
export function drainSpool(paths: Paths, end: number): Drained | undefined {
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

/** Oldest first: what a transcript was before what it became, and the pieces of one copy in their order. */
function pieces(paths: Paths): { folder: string; copy: string }[] {
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

/** Markers and states, then the place itself, unless something is left. */
function moveRest(paths: Paths, folder: string): void {
  try {
    for (const pending of listPending(folder)) markPending(paths.dataHome, pending)
    rmSync(join(folder, "pending"), { recursive: true, force: true })
    for (const { session, file } of spooledStates(folder)) {
      const own = join(paths.dataHome, "sessions", `${session}.json`)
      const known = statSync(own, { throwIfNoEntry: false })?.mtimeMs ?? 0
      const isForgotten = readTombstone(paths.dataHome, session)?.whole === true
      if (statSync(file).mtimeMs > known && !isForgotten) writeWhole(own, readFileSync(file, "utf8"))
      unlinkSync(file)
    }
    if (vaultFiles(folder).length === 0) forgetReason(folder)
    for (const name of ["vault", "sessions"]) removeEmpty(join(folder, name))
    removeEmptied(folder)
  } catch {
    // It cannot be written yet, or a hook writes here at this moment: the next one moves the rest.
  }
}

/** Folders only: a hook may put a file there at any moment, and that must stay. */
function removeEmpty(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) removeEmpty(join(folder, entry.name))
    }
    rmdirSync(folder)
  } catch {
    // Not there, or not empty.
  }
}
