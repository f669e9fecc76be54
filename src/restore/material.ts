/** The data that a restore is made of; the vocabulary of this folder. Pure. */
import type { FileChange } from "../agents/tool-kinds.ts"
import type { SubagentTask } from "../views/queries/calls.ts"
import type { KeptNote, KeptNotes } from "../views/queries/sessions.ts"
import type { TurnLine } from "../views/queries/turns.ts"

/** Added to every fact's age in messages: the very latest fact is no more likely than those just before it. */
export const SETTLING = 5

/** How many turn lines a restore always has room for. */
export const LEAST_TURNS = 5

/** Something said or done, with the turn it belongs to. */
export interface Quote {
  readonly text: string
  /** Handle of the turn, without its prefix. */
  readonly handle: string
  /** Of a note: whether the user said so. A decision of the user's is a choice among options that the model gave. */
  readonly byUser?: boolean
  /** What is to be known of it by now, as it stands behind its handle. */
  readonly after?: string
  /** The user says that it does not hold. */
  readonly isOver?: true
}

/** How many files in flight a restore shows. */
export const FILES_SHOWN = 5

export interface FileInFlight {
  readonly path: string
  readonly op: "write" | "edit"
  readonly handle: string
  /** The session's own call that changed it last; a subagent's words are not given back. */
  readonly call?: { readonly id: string; readonly message: number } | undefined
  /** What that call did. Read separately (restore.ts). */
  readonly change?: FileChange | undefined
  /** What became of it since, by what is in the file now; undefined: nobody can tell, or it may be as it was. */
  readonly since?: "changed" | "gone" | undefined
}

export interface CommandOutcome {
  readonly command: string
  readonly exitCode: number | undefined
  readonly error: string
  readonly handle: string
}

/** A turn of another session on the same subject, or that changed the same files. */
export interface RelatedLine {
  readonly handle: string
  /** ISO 8601. */
  readonly started: string | undefined
  /** Starts close to the shared words. */
  readonly prompt: string
  readonly answer: string
  /** The words it shares with the current subject, as they were typed there. */
  readonly words: readonly string[]
  /** Files in flight that it was the last to change, as they are shown. */
  readonly files?: readonly string[]
  /** What is to be known of it by now, as it stands behind it. */
  readonly after?: string
}

export interface Fact {
  readonly text: string
  /** As last written, if different: a command with redirections and filters. */
  readonly form?: string
  /** Of a path, as much as is known of it, if more. */
  readonly whole?: string
  readonly times?: number
  /** Number of messages with facts after the last of them. */
  readonly age?: number
  /** For a command whose last run failed, or for an error, how the command ended. */
  readonly exit?: string
  /** How much likelier it is needed than others like it; 1 if absent. */
  readonly weight?: number
}

/** Each kind, likeliest first. */
export interface Facts {
  readonly paths: readonly Fact[]
  readonly commands: readonly Fact[]
  readonly names: readonly Fact[]
  readonly errors: readonly Fact[]
}

/** What is to be known of a turn by now, as it stands behind its line. */
type Told<One> = One & { readonly after?: string }

/** Where a session was left. */
export interface Brief {
  readonly session: string
  readonly title: string | undefined
  /** Time of the last record, as Claude Code wrote it. */
  readonly ended: string | undefined
  /** Version of Claude Code that wrote the session. */
  readonly version: string | undefined
  readonly cwd: string | undefined
  readonly turnCount: number
  /** Bytes of the session's transcripts in the vault. */
  readonly archived: number
  /** How many of these bytes the views do not have: what they say is not known here. */
  readonly unread: number
  readonly todos: readonly { readonly content: string; readonly status: string }[]
  /** What the model kept for the project with `remember`; undefined: nothing. */
  readonly notes?: (Omit<KeptNotes, "latest"> & { readonly latest: readonly Told<KeptNote>[] }) | undefined
  /** Newest first. */
  readonly turns: readonly Told<TurnLine>[]
  /** From other sessions, best first. More than are wanted, since some may say nothing new. */
  readonly related: readonly RelatedLine[]
}

export interface Material extends Brief {
  /** Turns of the session itself about the user's words for the compaction, best first. */
  readonly focused?: readonly RelatedLine[]
  readonly pending: string | undefined
  readonly pendingBegun: boolean
  readonly constraints: readonly Quote[]
  /** What the user answered to questions, each with its question. */
  readonly answers: readonly Quote[]
  readonly decisions: readonly Quote[]
  readonly refuted: readonly Quote[]
  readonly files: readonly FileInFlight[]
  /** What subagents were started for, latest first. */
  readonly subagents: readonly SubagentTask[]
  /** Files that Claude Code shows the model again after a compaction, as far as can be predicted. */
  readonly shownAgain: readonly string[]
  /** What the model said in its last message, if anything. Newer versions of Claude Code keep that message. */
  readonly lastAnswer: string | undefined
  /** The last command that failed and has not succeeded since. */
  readonly failing: CommandOutcome | undefined
  readonly good: CommandOutcome | undefined
  readonly facts: Facts
  /** What the model said during its turns, newest first, if there are few turns. Read separately (restore.ts). */
  readonly steps?: readonly Quote[]
}
