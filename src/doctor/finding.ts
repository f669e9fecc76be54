/** What a check is given, and what it says. Pure. */
import type { Resolved } from "../config/options.ts"
import type { SecretSettings } from "../util/secrets.ts"

/** `skipped`: there is nothing to look at, or no way to. */
export type State = "ok" | "warn" | "fail" | "skipped"

export interface Repair {
  /** What `--fix` does, as in "would …". */
  readonly what: string
  run(): Promise<void> | void
}

export interface Finding {
  /** The check's name, for programs. */
  readonly check: string
  readonly state: State
  /** One line. Never text of a transcript. */
  readonly text: string
  readonly hint: string | undefined
  /** Examples, one a line; not all there are. */
  readonly details: readonly string[]
  readonly repair: Repair | undefined
}

/** Bytes that wait because they could not be written where they belong. */
export interface SpoolCount {
  readonly files: number
  readonly bytes: number
}

/** The machine as it is looked at. */
export interface Patient {
  readonly home: string
  readonly cwd: string
  /** The host's configuration folder. */
  readonly claudeDir: string
  /** The host's own state file, which names the user's servers. */
  readonly hostConfig: string
  readonly dataHome: string
  readonly stateHome: string
  readonly exePath: string
  /** Our own version. */
  readonly version: string
  readonly resolved: Resolved
  /** What must not get into the archive. */
  readonly secrets: SecretSettings
  /** Folders whose sessions must not get there. */
  readonly exclude: readonly string[]
  /** Configuration files that could not be read as TOML, with the reason. */
  readonly broken: readonly string[]
  /** Names of the environment variables that are set. */
  readonly variables: readonly string[]
  /** ms since the epoch. */
  readonly now: number
  /** Read every byte of database and vault, however long it takes. */
  readonly deep: boolean
  /** undefined where there is no spool. */
  readonly spool: SpoolCount | undefined
  /** For what takes long: `--deep`, and some repairs. */
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

/** Details that are shown; the text says how many there are. */
export const SHOWN = 5

export const MINUTE = 60_000
