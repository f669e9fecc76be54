/** Claude Code's transcripts: what the vault lacks of them, and which it is about to delete. */
import { transcriptName } from "../../agents/layouts.ts"
import { CtxError } from "../../base/errors.ts"
import { statsOf, tryTo } from "../../base/files.ts"
import { DAY, localDate, MINUTE } from "../../base/local-time.ts"
import { once } from "../../base/once.ts"
import { join } from "../../base/path.ts"
import { bytes, count } from "../../base/text.ts"
import { cleanUpPeriod, dueUntil } from "../../claude/settings/clean-up.ts"
import { readSettings } from "../../claude/settings/read-settings.ts"
import { type TranscriptFile, transcriptFilesBelow } from "../../job/find-transcripts.ts"
import type { ImportedFile } from "../../job/import-file.ts"
import { importTranscripts } from "../../job/import-transcripts.ts"
import { vaultFile } from "../../vault/layout.ts"
import { type VaultFile, vaultContents } from "../../vault/vault-files.ts"
import { open } from "../../views/open.ts"
import { archivedByPath } from "../../views/queries/transcripts.ts"
import { type Finding, finding, type Patient, type Repair, SHOWN } from "./finding.ts"
import { canBeWritten } from "./folder-checks.ts"
import { projectsOf } from "./registration-checks.ts"

/** How far ahead to look for clean-ups, in ms. */
const SOON = 7 * DAY

interface ClaudeTranscript {
  readonly path: string
  /** Time of the last change, in ms since the epoch. */
  readonly changed: number
  /** Bytes that the vault lacks. */
  readonly missing: number
  readonly error: string | undefined
}

export function transcriptChecks(patient: Patient): Finding[] {
  const all = claudeTranscripts(patient)
  return [...notArchived(patient, all), ...cleanUp(patient, all)]
}

function claudeTranscripts(patient: Patient): ClaudeTranscript[] {
  const inventory = inventoryOf(patient)
  const transcripts = inventory.transcripts()
  const compared = new Set(newestOf(transcripts))
  // Of an older one that is as long as what was archived of it, nobody expects anything new.
  const isAsArchived = ({ path, bytes: size }: TranscriptFile): boolean =>
    inventory.archived().get(path) === size
  const [asArchived, others] = partition(transcripts, (one) => !compared.has(one) && isAsArchived(one))
  const paths = [...inventory.unreadable(), ...others.map(({ path }) => path)]
  const { files } = importTranscripts(patient, paths, { dryRun: true, check: false })
  // The vault will never have the others.
  const wanted = files.filter((file) => !file.excluded && !file.forgotten)
  return [
    ...asArchived.map(({ path, changed }) => ({ path, changed, missing: 0, error: undefined })),
    ...wanted.map(({ path, taken, error }) => ({
      path,
      changed: statsOf(path)?.mtimeMs ?? patient.now,
      missing: taken,
      error,
    })),
  ]
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [first: T[], second: T[]] {
  const first: T[] = []
  const second: T[] = []
  for (const one of all) (isFirst(one) ? first : second).push(one)
  return [first, second]
}

function notArchived(patient: Patient, all: readonly ClaudeTranscript[]): Finding[] {
  if (all.length === 0)
    return [finding("archived", "skipped", "Claude Code has no transcripts to archive here")]
  const found: Finding[] = []
  const unreadable = all.filter(({ error }) => error !== undefined)
  if (unreadable.length > 0) {
    found.push(
      finding("archived", "warn", `${count(unreadable.length, "transcript")} cannot be read`, {
        details: unreadable.slice(0, SHOWN).map(({ path, error }) => `${path}: ${error}`),
      }),
    )
  }
  const behind = all.filter(({ missing }) => missing > 0)
  // A hook may be about to take what was written just now, if it can.
  const vault = vaultFile(patient.dataHome, "")
  const canWrite = canBeWritten(vault)
  const quiet = behind.filter(({ changed }) => !canWrite || patient.now - changed > MINUTE)
  const sum = (some: readonly ClaudeTranscript[]): number => some.reduce((n, { missing }) => n + missing, 0)
  if (quiet.length > 0) {
    const text = `${bytes(sum(quiet))} of ${count(quiet.length, "transcript")} are not in the vault`
    const more = canWrite
      ? { hint: "ctxbridge import", repair: taken(patient, quiet) }
      : { hint: `${vault} cannot be written` }
    found.push(finding("archived", canWrite ? "warn" : "fail", text, more))
  }
  if (found.length > 0) return found
  const text = count(all.length, "transcript")
  if (behind.length === 0) return [finding("archived", "ok", `${text}, all in the vault`)]
  const rest = `${bytes(sum(behind))}, written within the last minute, are not in the vault yet`
  return [finding("archived", "ok", `${text}; ${rest}`)]
}

const taken = (patient: Patient, some: readonly ClaudeTranscript[]): Repair => ({
  what: "archive what is missing",
  run: () => {
    const paths = some.map(({ path }) => path)
    const { files, indexError } = importTranscripts(patient, paths, {
      dryRun: false,
      check: false,
      onProgress: (done, total) => patient.progress("archiving", done, total),
    })
    const error = files.find((file: ImportedFile) => file.error !== undefined)?.error ?? indexError
    if (error !== undefined) throw new CtxError("import", error)
  },
})

function cleanUp(patient: Patient, all: readonly ClaudeTranscript[]): Finding[] {
  const { days, file, problem } = cleanUpPeriod(readSettings(patient))
  if (problem !== undefined) {
    return [finding("clean-up", "warn", `cleanupPeriodDays in ${file}: ${problem}`, { hint: RAISE })]
  }
  if (days === undefined) return []
  const set = `after ${count(days, "day")}${file === undefined ? " (its default)" : ""}`
  // A session's folder is deleted with its transcript, whatever the dates in it.
  const sessions = all.filter(({ path }) => path.endsWith(".jsonl") && !path.includes("/subagents/"))
  const due = dueUntil(sessions, days, patient.now + SOON)
  if (due.length === 0) {
    const [first] = dueUntil(sessions, days, Number.POSITIVE_INFINITY)
    const next = first === undefined ? "" : `; the next on ${localDate(first.due)}`
    return [finding("clean-up", "ok", `Claude Code deletes nothing this week, ${set}${next}`)]
  }
  const unsafe = all.filter(({ missing, error }) => missing > 0 || error !== undefined)
  const lost = due.filter(({ transcript }) => !isSafe(transcript, unsafe))
  const from = nextSweep(patient, due[0]!.due)
  const text = `Claude Code will delete ${count(due.length, "transcript")} within a week, from ${localDate(from)} on, ${set}`
  const details = due
    .slice(0, SHOWN)
    .map(({ transcript, due: when }) => `${localDate(when)} ${nameOf(transcript.path)}`)
  if (lost.length === 0) {
    return [
      finding("clean-up", "ok", `${text}; all are in the vault`, {
        hint: `ctxbridge resurrect brings one back; ${RAISE}`,
        details,
      }),
    ]
  }
  return [
    finding("clean-up", "fail", `${text}; ${lost.length} of them are not in the vault yet`, {
      hint: "ctxbridge import",
      details,
      repair: taken(
        patient,
        all.filter(({ missing }) => missing > 0),
      ),
    }),
  ]
}

const RAISE = 'to keep them longer: "cleanupPeriodDays": 3650 in the settings of Claude Code'

/** Whether the vault has the session and its subagents. */
function isSafe({ path }: ClaudeTranscript, unsafe: readonly ClaudeTranscript[]): boolean {
  const folder = `${path.replace(/\.jsonl$/, "")}/`
  return unsafe.every((one) => one.path !== path && !one.path.startsWith(folder))
}

/** Newer versions of Claude Code clean up at most once a day. */
function nextSweep({ claudeDir, now }: Patient, due: number): number {
  const last = statsOf(join(claudeDir, ".last-cleanup"))?.mtimeMs ?? 0
  return Math.max(due, now, last + DAY)
}

const nameOf = (path: string): string => {
  const { session, agent } = transcriptName(path)
  return session ?? `agent-${agent}`
}

/* What several checks look at, listed once for each examination. */

/**
 * Copies and transcripts that are opened: those that changed last. Of older ones, only what their names and sizes tell is
 * checked, unless with `--deep`: hundreds of thousands cannot be opened while somebody waits.
 */
export const NEWEST = 5000

interface Inventory {
  readonly copies: () => readonly VaultFile[]
  /** What is named like a copy, and is a folder, a pipe or the like. */
  readonly noFiles: () => readonly string[]
  /** Oldest first. */
  readonly transcripts: () => readonly TranscriptFile[]
  /** Folders of transcripts that cannot be read. */
  readonly unreadable: () => readonly string[]
  /** Bytes of each transcript in the vault, by its path, as the views tell; empty if they cannot be asked. */
  readonly archived: () => ReadonlyMap<string, number>
}

const made = new WeakMap<Patient, Inventory>()

/** The same for the same patient. */
export function inventoryOf(patient: Patient): Inventory {
  const known = made.get(patient)
  if (known !== undefined) return known
  const { dataHome } = patient
  const unreadable: string[] = []
  const transcripts = once(() =>
    transcriptFilesBelow(projectsOf(patient), { onUnreadable: (path) => void unreadable.push(path) }),
  )
  const vault = once(() => vaultContents(dataHome))
  const inventory = {
    copies: () => vault().files,
    noFiles: () => vault().others,
    transcripts,
    unreadable: () => {
      transcripts()
      return unreadable
    },
    archived: once(() => {
      const found = tryTo(() => {
        using db = open(dataHome, "check")
        return archivedByPath(db)
      })
      return found ?? new Map<string, number>()
    }),
  }
  made.set(patient, inventory)
  return inventory
}

/** Those that changed last. */
export const newestOf = <T extends { readonly changed: number }>(all: readonly T[]): readonly T[] =>
  all.length <= NEWEST ? all : all.toSorted((a, b) => b.changed - a.changed).slice(0, NEWEST)
