/** What `ctxbridge bench hooks` reports: the machine-readable form and its types. */
import type { Result } from "./measure.ts"

export interface Row {
  /** Stable across implementations: `hook/user-prompt-submit/nothing-new/15MB/100000-turns`. */
  readonly name: string
  /** The event, and for the start of a session also its source. */
  readonly hook: string
  readonly news: "nothing" | "little"
  readonly transcriptMB: number
  /** Turns in the archive besides those of the transcript. */
  readonly archiveTurns: number
  /** Whether the limits apply. */
  readonly limited: boolean
  readonly result: Result
  /** Ratios of medians and of minima; undefined when there is no such baseline. */
  readonly cpuVsNode: Ratio | undefined
  readonly cpuVsEmpty: Ratio
}

export interface Ratio {
  readonly median: number
  readonly min: number
}

export interface Scenario {
  readonly transcriptMB: number
  readonly archiveTurns: number
  /** All turns in the archive when measuring began. */
  readonly turns: number
  /** Bytes of the transcripts that were not archived at the end: a hook that fails silently is fast. */
  readonly unread: number
  readonly node: Result | undefined
  /** The same with the user's NODE_OPTIONS and NODE_EXTRA_CA_CERTS, if set. */
  readonly nodeAsSet: Result | undefined
  readonly empty: Result
  readonly rows: readonly Row[]
}

export interface FirstRead {
  readonly name: string
  readonly transcriptMB: number
  /** One element per run, each with its own archive. */
  readonly runs: readonly {
    readonly exitCode: number
    readonly wallMs: number
    readonly cpuMs: number
    /** MB (10^6 bytes) of the transcript in the vault when the hook returned. */
    readonly committedMB: number
    /** ms from the hook's start until the vault held all of it; undefined if it never did. */
    readonly vaultCompleteMs: number | undefined
    /** The same for the views. */
    readonly indexCompleteMs: number | undefined
  }[]
  /** Measured in one more run. */
  readonly peakMB: number
}

export interface Verdict {
  readonly limit: string
  readonly allowed: number
  /** The worst value measured. */
  readonly measured: number
  readonly met: boolean
  /** Name of the row in which it was measured. */
  readonly where: string
}

export interface Report {
  readonly suite: "hooks"
  /** ISO 8601. */
  readonly at: string
  readonly machine: { os: string; arch: string; cpu: string; cpus: number; memoryGB: number }
  readonly versions: { bun: string; node: string | undefined; ctxbridge: string }
  readonly rounds: number
  /** Peak memory below this cannot be distinguished; see `peakFloor`. */
  readonly peakFloorMB: number
  readonly scenarios: readonly Scenario[]
  readonly firstRead: FirstRead | undefined
  readonly verdicts: readonly Verdict[]
  readonly notes: readonly string[]
}
