/** What a restore is made of. The vocabulary of this folder. Pure. */

/** Messages by which every fact is taken to be older: the very last is no more likely than the ones before. */
export const SETTLING = 5

/** Lines of turns that a restore has room for whatever else there is. */
export const LEAST_TURNS = 5

/** Something said or done, with the turn it belongs to. */
export interface Quote {
  readonly text: string
  /** Handle of the turn, without its prefix. */
  readonly handle: string
}

export interface FileInFlight {
  readonly path: string
  /** What was last done to it. */
  readonly op: string
  readonly times: number
  readonly handle: string
}

export interface CommandRun {
  readonly command: string
  readonly exitCode: number | undefined
  readonly error: string
  readonly handle: string
}

export interface TurnLine {
  readonly handle: string
  readonly seq: number
  /** Where its first line begins in its transcript, in bytes. */
  readonly offset: number
  readonly prompt: string
  readonly answer: string
  readonly tools: number
  readonly errors: number
  /** 1 when the human stopped the model. */
  readonly interrupted: number
}

/** A turn of another session that is about the same. */
export interface RelatedLine {
  readonly handle: string
  /** ISO 8601. */
  readonly started: string | undefined
  /** From where the common words stand. */
  readonly prompt: string
  readonly answer: string
  /** What it has in common with what is asked now, as that was typed. */
  readonly words: readonly string[]
}

/** Something that may be needed again. */
export interface Fact {
  readonly text: string
  /** As it was last written, where that differs: a command with redirections and filters. */
  readonly form?: string
  /** Messages that hold it. */
  readonly times?: number
  /** Messages with facts that came after the last of them. */
  readonly age?: number
  /** How its last run ended, for a command that failed; of an error, how its command did. */
  readonly exit?: string
}

/** Each kind with the likeliest first. */
export interface Facts {
  readonly paths: readonly Fact[]
  readonly commands: readonly Fact[]
  readonly names: readonly Fact[]
  readonly errors: readonly Fact[]
}

/** Where a session was left. */
export interface Brief {
  readonly session: string
  readonly title: string | undefined
  /** Last record's time, as the host wrote it. */
  readonly ended: string | undefined
  /** Version of the host that wrote the session. */
  readonly version: string | undefined
  readonly cwd: string | undefined
  readonly turnCount: number
  /** Bytes of the session's transcripts in the vault. */
  readonly archived: number
  readonly todos: readonly { readonly content: string; readonly status: string }[]
  /** What the model has kept for the project with `remember`; undefined: nothing. */
  readonly notes?: { readonly count: number; readonly session: string } | undefined
  /** Newest first. */
  readonly turns: readonly TurnLine[]
  /** Of other sessions, best first; more than are wanted, since some may say nothing new. */
  readonly related: readonly RelatedLine[]
}

export interface Material extends Brief {
  /** The prompt that was not answered to the end. */
  readonly pending: string | undefined
  /** Whether the model had begun to answer it. */
  readonly pendingBegun: boolean
  readonly constraints: readonly Quote[]
  readonly decisions: readonly Quote[]
  /** What the model tried in vain. */
  readonly refuted: readonly Quote[]
  readonly files: readonly FileInFlight[]
  /** Files that the host shows the model again after a compaction, as far as can be told before. */
  readonly shownAgain: readonly string[]
  /** The answer with which the session stands still, if it does: later hosts keep it. */
  readonly lastAnswer: string | undefined
  /** The last command that failed and has not succeeded since. */
  readonly failing: CommandRun | undefined
  readonly good: CommandRun | undefined
  readonly facts: Facts
  /** What the model said on the way, newest first, where there are few turns: read apart (steps.ts). */
  readonly steps?: readonly Quote[]
}
