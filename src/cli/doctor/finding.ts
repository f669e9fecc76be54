/** The input and output of a check. Pure. */
import type { PathsAndPolicy } from "../../config/load.ts"
import type { Resolved } from "../../config/options.ts"

/** `skipped`: there is nothing to check, or no way to. */
export type State = "ok" | "warn" | "fail" | "skipped"

export interface Repair {
  /** What `--fix` does, as in "would …". */
  readonly what: string
  run(): Promise<void> | void
}

export interface Finding {
  /** The check's name, used in JSON. */
  readonly check: string
  readonly state: State
  /** One line, never containing text from a transcript. */
  readonly text: string
  readonly hint: string | undefined
  /** Examples, one per line; not necessarily all. */
  readonly details: readonly string[]
  readonly repair: Repair | undefined
}

/** Bytes waiting because they could not be written where they belong. */
export interface SpoolCount {
  readonly files: number
  readonly bytes: number
}

/** The machine being examined. */
export interface Patient extends PathsAndPolicy {
  readonly cwd: string
  readonly exePath: string
  /** Our own version. */
  readonly version: string
  readonly resolved: Resolved
  /** Configuration files that could not be parsed as TOML, each with the reason. */
  readonly broken: readonly string[]
  /** Names of the environment variables that are set. */
  readonly variables: readonly string[]
  /** ms since the epoch. */
  readonly now: number
  /** Read every byte of the database and the vault, however long it takes. */
  readonly deep: boolean
  readonly spool: SpoolCount
  /** Reports the progress of slow work: `--deep`, and some repairs. */
  progress(label: string, done: number, total: number): void
}

interface More {
  readonly hint?: string
  readonly details?: readonly string[]
  readonly repair?: Repair | undefined
}

export const finding = (check: string, state: State, text: string, more: More = {}): Finding => ({
  check,
  state,
  text,
  hint: more.hint,
  details: more.details ?? [],
  repair: more.repair,
})

/** A repair that does the same to each of several things. */
export const repairEach = <T>(what: string, things: readonly T[], repair: (one: T) => void): Repair => ({
  what,
  run: () => {
    for (const one of things) repair(one)
  },
})

/** Maximum number of details shown; the text gives the total. */
export const SHOWN = 5
