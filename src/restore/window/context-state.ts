/** What is known about a session's context: a part of its state file, carried from hook to hook. Pure. */
import type { Zone } from "./zone.ts"

/** As the design documents define it. */
interface HistoryEntry {
  /** ms since the epoch. */
  readonly ts: number
  readonly tokens: number
  /** Share of the window. */
  readonly pct: number
  readonly turns: number
}

export interface ContextState {
  /** How many bytes of the transcript have been read. */
  readonly at?: number
  /** Tokens in the context after the last answer; undefined before the first. */
  readonly tokens?: number
  /** Whether `tokens` is estimated from the length of the text, because the host has not reported a count. */
  readonly estimated?: boolean
  readonly model?: string
  readonly version?: string
  /** Tokens of the first request: what the host puts before every conversation. 0 when it was not seen. */
  readonly base?: number
  /** Characters since the last compaction and of what it left, while `tokens` is estimated. */
  readonly chars?: number
  readonly turns: number
  readonly compactions: number
  /** Most tokens that this model is known to have held before a compaction: its window is no smaller. */
  readonly most?: number
  /** `preTokens` of the last automatic compactions. Undefined: those of other sessions have not been looked up yet. */
  readonly points?: readonly number[]
  /** The fullest zone that was told of since the last compaction. */
  readonly told?: Zone
  /** The result of the last close examination. */
  readonly judged?: Judged
  /** Readings since the last compaction. */
  readonly history: readonly HistoryEntry[]
}

export interface Judged {
  /** The user's options at that time. If they change, the context is examined again. */
  readonly option: number
  readonly warn: number
  readonly critical: number
  readonly window: number
  readonly compactsAt: number
  /** Percentage of the window, as other tools were last told. */
  readonly percent: number
}

export const NEW_CONTEXT: ContextState = { turns: 0, compactions: 0, history: [] }
