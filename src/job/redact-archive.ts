/** Removes secrets from everything already archived: vault, views, state files, log. */

import { isMissing, messageOf, throwBusy } from "../base/errors.ts"
import { writeWhole } from "../base/files.ts"
import { existsSync, lstatSync, readFileSync, rmSync } from "../base/fs.ts"
import { fileNamesIn } from "../base/json-files.ts"
import { logPath } from "../base/log.ts"
import { join } from "../base/path.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { endOfLines } from "../record/lines-with.ts"
import { filterText, type SecretSettings } from "../secrets/filter.ts"
import { sessionOf } from "../vault/capture.ts"
import { readExactly } from "../vault/copy-file.ts"
import { knownOf } from "../vault/known-values.ts"
import { isSuperseded, vaultFile, vaultPath } from "../vault/layout.ts"
import { withReplacingLock } from "../vault/merge-frames.ts"
import { tailOf } from "../vault/reader.ts"
import { redactCopy } from "../vault/redact-copy.ts"
import { withSource } from "../vault/source-file.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { databasePath } from "../views/database.ts"
import { followVault } from "../views/kept-notes.ts"
import { removePages } from "../views/kept-pages.ts"
import { redactLabels } from "../views/labels.ts"
import { open } from "../views/open.ts"
import { forgetFormerSlots, givenTexts, hasRestores, replaceGiven } from "../views/queries/restores.ts"
import { type RebuildOptions, rebuild } from "../views/rebuild-views.ts"
import { dropPrepared } from "../views/reminders.ts"
import { followRemoval, type Removed } from "../views/removal.ts"
import { changingSessions, sessionFolder } from "../views/session-files.ts"
import { keptDatabases, removeKeptDatabases } from "../views/session-traces.ts"
import { sources } from "../views/view-sources.ts"

interface RedactedCopy {
  /** Path below `vault/`, or `notes` for the source of our own transcripts. */
  readonly copy: string
  /** Bytes overwritten, or that a dry run would overwrite. */
  readonly filled: number
  readonly error: string | undefined
}

export interface RedactReport {
  readonly ok: boolean
  readonly dryRun: boolean
  /** Copies searched. */
  readonly copies: number
  /** Copies in which something was found, or that could not be searched. */
  readonly changed: readonly RedactedCopy[]
  readonly filledBytes: number
  /** Rows of `restores`, which hold what was given back to a model. */
  readonly restores: number
  /** Other files, and labels, in which something was found: session state, the log, tags and their notes. */
  readonly files: number
  /** Copies of damaged databases. They are deleted, because nothing in them can be overwritten. */
  readonly damagedDatabases: number
  readonly rebuilt: boolean
}

interface RedactOptions {
  readonly dryRun: boolean
  readonly rescan: boolean
  /** ms since the epoch. */
  readonly now: number
  /** ms to wait for other processes. */
  readonly wait: number
  readonly onProgress?: (done: number, total: number) => void
}

type Place = Pick<PathsAndPolicy, "dataHome" | "stateHome" | "home" | "secrets">

/** @throws CtxError `busy` when another process is working on the vault's files or the views */
export function redactArchive(place: Place, options: RedactOptions): RedactReport {
  const { dataHome } = place
  // An explicit redaction filters secrets even if hooks are set not to.
  const secrets: SecretSettings = { ...place.secrets, enabled: true }
  const { dryRun } = options
  const report = dryRun
    ? redactAll(place, secrets, options)
    : withReplacingLock(dataHome, options.wait, () => redactAll(place, secrets, options))
  if (report !== undefined) return report
  throwBusy("another process is rewriting the vault's files")
}

/** As long as this file exists, the views may contain what the vault no longer does. */
export const redactingMarker = (dataHome: string): string => join(dataHome, "redacting")

/**
 * Rebuilds the views if a process was killed after it redacted the vault.
 *
 * @param wait ms to wait until nobody has the views open
 */
export function resumeRedaction(dataHome: string, wait: number): void {
  if (!existsSync(redactingMarker(dataHome))) return
  // Whoever holds the lock is already doing this.
  withReplacingLock(dataHome, 0, () => {
    if (existsSync(redactingMarker(dataHome)))
      renewViews(dataHome, () => rebuild(dataHome, { now: Date.now(), wait }))
  })
}

/** @param renew must leave nothing in free pages */
export function renewViews(dataHome: string, renew: () => unknown): void {
  renew()
  dropPrepared(dataHome)
  // The rebuild has kept a copy of views that were damaged.
  removeKeptDatabases(dataHome)
  removePages(dataHome)
  rmSync(redactingMarker(dataHome), { force: true })
}

/**
 * Makes the views of these copies' sessions again.
 *
 * @param copies paths below `vault/`
 * @param removed what of them has gone from the vault
 */
export function followCopies(
  dataHome: string,
  copies: ReadonlySet<string>,
  options: RebuildOptions,
  removed: Removed = "text",
): void {
  const sessions = new Set(
    sources(dataHome)
      .filter(({ copy }) => copies.has(copy))
      .map(({ session }) => session),
  )
  followRemoval(dataHome, (session) => (sessions.has(session) ? removed : undefined), options)
  removePages(dataHome)
}

function redactAll(place: Place, secrets: SecretSettings, options: RedactOptions): RedactReport {
  const { dataHome, stateHome } = place
  const { dryRun } = options
  const interrupted = existsSync(redactingMarker(dataHome))
  if (!dryRun) writeWhole(redactingMarker(dataHome), "")
  const { looked, changed } = redactVault({ ...place, secrets }, options)
  if (!dryRun) {
    try {
      followVault(dataHome)
    } catch (error) {
      changed.push({ copy: "notes", filled: 0, error: messageOf(error) })
    }
  }
  const filter = (text: string): string => filterText(text, secrets)
  const restores = redactRestores(dataHome, filter, dryRun)
  const { labels, failed } = redactLabels(dataHome, filter, dryRun)
  changed.push(...failed.map((one) => ({ ...one, filled: 0 })))
  const files = redactStates(dataHome, filter, dryRun) + redactLogs(stateHome, filter, dryRun) + labels
  const damaged = keptDatabases(dataHome)
  const filledBytes = changed.reduce((sum, { filled }) => sum + filled, 0)
  const rebuilt = !dryRun && (interrupted || filledBytes + restores > 0)
  if (!dryRun) removeKeptDatabases(dataHome)
  if (rebuilt) {
    renewViews(dataHome, () =>
      // Whoever was interrupted does not tell which copies it had changed.
      interrupted
        ? rebuild(dataHome, { now: options.now, wait: options.wait, rewrite: filter })
        : followCopies(dataHome, new Set(changed.map(({ copy }) => copy)), {
            now: options.now,
            wait: options.wait,
          }),
    )
  } else if (!dryRun) {
    if (files > 0) dropPrepared(dataHome)
    if (labels > 0) removePages(dataHome)
    rmSync(redactingMarker(dataHome), { force: true })
  }
  return {
    ok: changed.every(({ error }) => error === undefined),
    dryRun,
    copies: looked,
    changed,
    filledBytes,
    restores,
    files,
    damagedDatabases: damaged.length,
    rebuilt,
  }
}

function redactVault(
  { dataHome, home, secrets }: Omit<Place, "stateHome">,
  { dryRun, rescan, onProgress }: RedactOptions,
): { looked: number; changed: RedactedCopy[] } {
  const all = vaultFiles(dataHome)
  const total = all.reduce((sum, { bytes }) => sum + bytes, 0)
  const changed: RedactedCopy[] = []
  let looked = 0
  let done = 0
  for (const { copy, bytes } of all) {
    try {
      const filled = redactCopy(vaultFile(dataHome, copy), { secrets, rescan, dryRun })
      if (filled !== undefined) {
        looked++
        const path = isSuperseded(copy) ? undefined : tailOf(vaultFile(dataHome, copy))?.header.path
        if (path !== undefined && !dryRun) learn({ dataHome, home, secrets }, path)
      }
      if ((filled ?? 0) > 0) changed.push({ copy, filled: filled!, error: undefined })
    } catch (error) {
      // One damaged copy must not stop the others from being redacted.
      changed.push({ copy, filled: 0, error: messageOf(error) })
    }
    done += bytes
    onProgress?.(done, total)
  }
  return { looked, changed }
}

/** Returns the same text if there is nothing to fill. */
type Filter = (text: string) => string

/** ms to wait for others that write. */
const PATIENCE = 5000

/** @returns how many rows had something to overwrite */
export function redactRestores(dataHome: string, filter: Filter, dryRun: boolean): number {
  if (!existsSync(databasePath(dataHome))) return 0
  using db = open(dataHome, dryRun ? "look" : "erase", PATIENCE)
  if (!hasRestores(db)) return 0
  const found = givenTexts(db).flatMap(({ id, text }) => {
    const filtered = filter(text)
    return filtered === text ? [] : [{ id, text: filtered }]
  })
  if (!dryRun && found.length > 0) replaceGiven(db, found)
  if (!dryRun) forgetFormerSlots(db)
  return found.length
}

/** @returns how many of the log's files had something to overwrite */
export const redactLogs = (stateHome: string, filter: Filter, dryRun: boolean): number =>
  redactFiles([logPath(stateHome), `${logPath(stateHome)}.1`], filter, dryRun)

/** @returns how many states of sessions had something to overwrite */
export function redactStates(dataHome: string, filter: Filter, dryRun: boolean): number {
  let changed = 0
  for (const file of filesIn(sessionFolder(dataHome))) {
    // Locked so that it does not overwrite what a hook writes about the session at this moment.
    changed += changingSessions(dataHome, () =>
      redactFiles([file], (text) => filteredJson(text, filter), dryRun),
    )
  }
  return changed
}

/** @returns how many files had something to overwrite */
function redactFiles(files: readonly string[], filter: Filter, dryRun: boolean): number {
  let changed = 0
  for (const file of files) {
    let text: string
    try {
      text = readFileSync(file, "utf8")
    } catch (error) {
      if (isMissing(error)) continue
      throw error
    }
    const filtered = filter(text)
    if (filtered === text) continue
    changed++
    if (!dryRun) writeWhole(file, filtered)
  }
  return changed
}

/** Filters the strings of a small JSON document, or an incomplete document as text. */
function filteredJson(text: string, filter: Filter): string {
  let found = false
  try {
    const document = JSON.parse(text, (_key, value: unknown) => {
      if (typeof value !== "string") return value
      const filtered = filter(value)
      found ||= filtered !== value
      return filtered
    })
    return found ? JSON.stringify(document) : text
  } catch {
    return filter(text)
  }
}

const filesIn = (folder: string): string[] =>
  fileNamesIn(folder, isMissing)
    .map((name) => join(folder, name))
    .filter((file) => lstatSync(file, { throwIfNoEntry: false })?.isFile() === true)

const LEARNT_AT_ONCE = 1 << 20

/**
 * Notes the secrets of a transcript as far as it is archived: when hooks may not have been able to note what they had
 * recognised, or older rules did not recognise it.
 */
export function learn(place: Pick<PathsAndPolicy, "dataHome" | "home" | "secrets">, path: string): void {
  const tail = tailOf(vaultFile(place.dataHome, vaultPath(path, place.home)))
  const to = tail?.last?.to
  if (tail === undefined || to === undefined) return
  const values = knownOf(place, sessionOf(path), path)
  withSource(path, (fd) => {
    for (let from = 0, size = LEARNT_AT_ONCE; from < to; ) {
      const read = readExactly(fd, from, Math.min(size, to - from))
      const end = from + read.length < to ? endOfLines(read) : read.length
      if (read.length === 0) return
      // Nothing but the beginning of a long line.
      if (end === 0) size *= 2
      else {
        const lines = { path, id: tail.header.id, from, original: read.subarray(0, end) }
        values.learn(lines, place.secrets)
        from += end
        size = LEARNT_AT_ONCE
      }
    }
  })
}
