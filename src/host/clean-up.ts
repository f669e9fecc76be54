/**
 * What the host's clean-up will delete, and when. Observed and read in its code: some minutes after a start, at most
 * once a day (`.last-cleanup` in its configuration folder, in newer versions), it deletes each session's transcript
 * whose time of change is more than `cleanupPeriodDays` ago, and the session's folder with the subagents' transcripts.
 * Pure.
 */
import type { ScopeSettings } from "./settings-read.ts"

export const DAY = 24 * 60 * 60_000
const DEFAULT_DAYS = 30

export interface CleanUpPeriod {
  /** Days; undefined when the host does not clean up. */
  readonly days: number | undefined
  /** The settings file that says so; undefined for the host's default. */
  readonly file: string | undefined
  /** A value that the host refuses or that means something else than it seems to, in words. */
  readonly problem: string | undefined
}

/** The file of the narrowest scope counts: local, then project, then user. */
export function cleanUpPeriod(settings: readonly ScopeSettings[]): CleanUpPeriod {
  const found = settings.findLast(({ cleanupPeriodDays }) => cleanupPeriodDays !== undefined)
  if (found === undefined) return { days: DEFAULT_DAYS, file: undefined, problem: undefined }
  const { file, cleanupPeriodDays: value } = found
  if (value === 0) {
    const problem =
      "with 0, Claude Code up to 2.0 writes no transcripts at all, and later ones refuse the file"
    return { days: undefined, file, problem }
  }
  if (typeof value === "number" && Number.isInteger(value) && value > 0) {
    return { days: value, file, problem: undefined }
  }
  return { days: undefined, file, problem: "Claude Code refuses a value that is not a whole number of days" }
}

export interface Dated {
  /** Time of the last change, in ms since the epoch. */
  readonly changed: number
}

export interface DueTranscript<T extends Dated> {
  readonly transcript: T
  /** From when on the next clean-up deletes it, in ms since the epoch. */
  readonly due: number
}

/** What is due until a moment, the first first. */
export function dueUntil<T extends Dated>(
  transcripts: readonly T[],
  days: number,
  until: number,
): DueTranscript<T>[] {
  return transcripts
    .map((transcript) => ({ transcript, due: transcript.changed + days * DAY }))
    .filter(({ due }) => due <= until)
    .sort((a, b) => a.due - b.due)
}
