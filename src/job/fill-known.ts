/**
 * Fills what was recognised as a secret in a session in everything that was archived of it before: main transcript,
 * subagents, former copies, and what was made from them (docs/adr/0014). Doing it again changes nothing.
 */
import { existsSync, rmSync } from "node:fs"
import { codeOf } from "../base/errors.ts"
import { tryTo, writeWhole } from "../base/files.ts"
import { logError } from "../base/log.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { type Known, withoutKnown } from "../secrets/known.ts"
import { sessionOf } from "../vault/capture.ts"
import { readExactly } from "../vault/copy-file.ts"
import { type Due, dueKnown, knownOf, settleKnown, withoutValues } from "../vault/known-values.ts"
import { isSuperseded, vaultFile } from "../vault/layout.ts"
import { withReplacingLock } from "../vault/merge-frames.ts"
import { tailOf } from "../vault/reader.ts"
import { bytesFilled } from "../vault/redact-copy.ts"
import { rewriteCopy } from "../vault/rewrite.ts"
import { withSource } from "../vault/source-file.ts"
import { ownerOf } from "../vault/tombstones.ts"
import { databasePath } from "../views/database.ts"
import { followVault } from "../views/kept-notes.ts"
import { removePages } from "../views/kept-pages.ts"
import { redactLabels } from "../views/labels.ts"
import { open } from "../views/open.ts"
import { indexedBytes } from "../views/queries/transcripts.ts"
import { rebuild } from "../views/rebuild-views.ts"
import { dropPrepared } from "../views/reminders.ts"
import { type Source, sources } from "../views/view-sources.ts"
import {
  followCopies,
  redactingMarker,
  redactLogs,
  redactRestores,
  redactStates,
  renewViews,
} from "./redact-archive.ts"

type KnownPaths = Pick<PathsAndPolicy, "dataHome" | "stateHome" | "home" | "secrets">

/**
 * @param wait ms to wait for other processes
 * @returns bytes filled in the vault
 */
export function fillKnown(place: KnownPaths, wait: number): number {
  const { dataHome } = place
  if (dueKnown(dataHome).length === 0) return 0
  const done = withReplacingLock(dataHome, wait, () => {
    const isInterrupted = existsSync(redactingMarker(dataHome))
    const filled: Filled = { bytes: 0, stale: new Set(), isRestored: false }
    writeWhole(redactingMarker(dataHome), "")
    const all = sources(dataHome)
    for (const due of dueKnown(dataHome)) if (fillSession(place, due, all, filled)) settleKnown(due)
    const options = { now: Date.now(), wait }
    // Whoever was interrupted does not tell which copies it had changed.
    if (isInterrupted) renewViews(dataHome, () => rebuild(dataHome, options))
    else if (filled.stale.size > 0 || filled.isRestored)
      renewViews(dataHome, () => followCopies(dataHome, filled.stale, options))
    else rmSync(redactingMarker(dataHome), { force: true })
    return filled.bytes
  })
  return done ?? 0
}

interface Filled {
  bytes: number
  /** Copies of which the views hold something that was filled. */
  readonly stale: Set<string>
  /** Whether something was filled in what had been given back. */
  isRestored: boolean
}

/** @returns false if a copy could not be searched because somebody was writing it */
function fillSession(place: KnownPaths, { paths }: Due, all: readonly Source[], filled: Filled): boolean {
  const { dataHome, stateHome } = place
  let isDone = true
  for (const owner of new Set(paths.map((path) => ownerOf(sessionOf(path), path)))) {
    const { known } = knownOf(place, owner, owner)
    if (known.size === 0) continue
    for (const source of all) {
      if (ownerOf(source.session, source.path) !== owner) continue
      try {
        const { bytes, first } = fillCopy(dataHome, source, known)
        filled.bytes += bytes
        if (bytes > 0 && isIndexed(dataHome, source, first)) filled.stale.add(source.copy)
        // Our own notes are not Claude Code's.
        if (bytes > 0 && source.path.startsWith(dataHome)) followVault(dataHome)
      } catch (error) {
        // A damaged copy must not keep the others from being searched; `verify` reports it.
        if (codeOf(error) === "busy") isDone = false
        else logError(stateHome, { event: "known", error })
      }
    }
    const filter = (text: string): string => withoutKnown(text, known)
    if (redactRestores(dataHome, filter, false) > 0) filled.isRestored = true
    const labels = tryTo(() => redactLabels(dataHome, filter, false).labels) ?? 0
    const files = redactStates(dataHome, filter, false) + redactLogs(stateHome, filter, false) + labels
    if (files > 0) dropPrepared(dataHome)
    if (labels > 0) removePages(dataHome)
  }
  return isDone
}

/** @returns bytes filled, and the offset of the first frame with some */
function fillCopy(dataHome: string, { copy, path }: Source, known: Known): { bytes: number; first: number } {
  const file = vaultFile(dataHome, copy)
  /** Bytes filled by offset, because frames may be edited twice. */
  const filled = new Map<number, number>()
  const fillWith = (fd: number | undefined): true => {
    rewriteCopy(file, (content, from) => {
      const original = fd === undefined ? undefined : readExactly(fd, from, content.length)
      const now = withoutValues(content, original, known)
      const bytes = bytesFilled(content, now)
      if (bytes > 0) filled.set(from, bytes)
      return now
    })
    return true
  }
  // The transcript of a former copy has other content, if there still is one.
  if (isSuperseded(copy) || withSource(path, fillWith) === undefined) fillWith(undefined)
  return { bytes: [...filled.values()].reduce((sum, one) => sum + one, 0), first: Math.min(...filled.keys()) }
}

/** Whether the views may hold what is behind an offset of a transcript. */
function isIndexed(dataHome: string, { copy }: Source, from: number): boolean {
  if (!existsSync(databasePath(dataHome))) return false
  const indexed = tryTo(() => {
    const id = tailOf(vaultFile(dataHome, copy))?.header.id ?? ""
    using db = open(dataHome, "check")
    return indexedBytes(db, id) ?? 0
  })
  return indexed === undefined || indexed > from
}
