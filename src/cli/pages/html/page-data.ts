/** What the pages are made of. */

import type { Part } from "../../../record/types.ts"
import type { CountedSession } from "../../../views/queries/sessions.ts"
import type { Lineage } from "../../../views/queries/transcripts.ts"
import type { Turn, WholeTurn } from "../../../views/turn.ts"

/** How figures and times are written, which depends on where the page is made. */
export interface PageWords {
  /** `86.7K` */
  readonly tokens: (n: number) => string
  /** `$1.20` */
  readonly dollars: (cost: number) => string
  /** `2 Mar 2026 08:05` */
  readonly moment: (time: string | null) => string
  /** `2 Mar 2026 08:05 to 09:12` */
  readonly period: (from: string | null, to: string | null) => string
  /** `2026-03-02`: days are in its order. */
  readonly day: (time: string | null) => string
  /** `08:05` */
  readonly hour: (time: string | null) => string
}

/** Another page beside this one. */
export interface PageLink {
  readonly file: string
  readonly name: string
}

/** What a compaction kept and lost, and what was restored after it. */
export interface CompactionNote {
  /** Of the boundary, as its line has it. */
  readonly time: string | null
  readonly kept: number
  readonly restored: number
  readonly lost: number
  /** Whether the restored text reached the conversation, in words. */
  readonly delivery: string
  /** The restored text; empty: nothing was. */
  readonly text: string
}

/** Words about a session that are not its own, such as a summary of it. They are marked as `by` whom. */
export interface SessionNote {
  readonly title: string
  readonly items: readonly {
    readonly label: string
    readonly text: string
    /** Of the turn that says it. */
    readonly handle?: string | undefined
  }[]
  readonly by: string
}

export interface SubagentData {
  readonly session: CountedSession
  /** What it was asked, in full. */
  readonly brief: string
  readonly turns: Iterable<WholeTurn>
}

export interface SessionData {
  readonly session: CountedSession
  readonly lineage: Lineage
  readonly notes: readonly SessionNote[]
  /** The turns of the page, in short. */
  readonly outline: readonly Turn[]
  /** Whether these are all of the session. */
  readonly isWhole: boolean
  /** By handle: the most tokens in the context during the turn. */
  readonly context: ReadonlyMap<string, number>
  readonly compactions: readonly CompactionNote[]
  readonly subagents: readonly SubagentData[]
  readonly turns: Iterable<WholeTurn>
  /** Base64 of a turn's images. */
  readonly mediaOf: (turn: WholeTurn) => ReadonlyMap<Part, string>
}
