/**
 * What Claude Code's clean-up will delete, and when. Observed, and confirmed in its code: a few minutes after a start,
 * at most once a day (newer versions record it in `.last-cleanup` in the configuration folder), it deletes every
 * session transcript last modified more than `cleanupPeriodDays` ago, along with the session's folder of subagent
 * transcripts. Pure.
 */
import { DAY } from "../../base/local-time.ts"
import type { SettingsFile } from "./read-settings.ts"

const DEFAULT_DAYS = 30

interface CleanUpPeriod {
  /** Days; undefined when Claude Code does not clean up. */
  readonly days: number | undefined
  /** The settings file that says so; undefined for Claude Code's default. */
  readonly file: string | undefined
  /** Explains a value that Claude Code rejects, or that does not mean what it seems to. */
  readonly problem: string | undefined
}

/** What an organisation manages wins, then the most specific scope: local, then project, then user. */
export function cleanUpPeriod(settings: readonly SettingsFile[]): CleanUpPeriod {
  const found = settings.findLast(({ fields }) => fields["cleanupPeriodDays"] !== undefined)
  if (found === undefined) return { days: DEFAULT_DAYS, file: undefined, problem: undefined }
  const { file } = found
  const value = found.fields["cleanupPeriodDays"]
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

interface Dated {
  /** Time of the last change, in ms since the epoch. */
  readonly changed: number
}

interface DueTranscript<T extends Dated> {
  readonly transcript: T
  /** The time after which the next clean-up deletes it, in ms since the epoch. */
  readonly due: number
}

/** The transcripts due by `until`, earliest first. */
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
