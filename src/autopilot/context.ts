/** What is known of a session's context: a part of its state file, carried from hook to hook. Pure. */

/** As the design documents have it. */
export interface HistoryEntry {
  /** ms since the epoch. */
  readonly ts: number
  readonly tokens: number
  /** Share of the window. */
  readonly pct: number
  readonly turns: number
}

export interface ContextState {
  /** Bytes of the transcript that were followed. */
  readonly at?: number
  /** In the context after the last answer; undefined before the first. */
  readonly tokens?: number
  /** Nobody has counted them: made from the length of the text. */
  readonly estimated?: boolean
  readonly model?: string
  /** Of the host. */
  readonly version?: string
  /** Tokens of the first request: what the host puts before every conversation. 0 when nobody saw it. */
  readonly base?: number
  /** Characters since the last compaction, while nobody counts tokens. */
  readonly chars?: number
  /** Prompts of the human. */
  readonly turns: number
  readonly compactions: number
  /** `preTokens` of the last automatic ones; undefined: those of other sessions have not been looked up. */
  readonly points?: readonly number[]
  /** The model has been told that the window is nearly full, since the last compaction. */
  readonly warned?: boolean
  /** What was found when it was looked at closely. */
  readonly judged?: Judged
  /** Since the last compaction. */
  readonly history: readonly HistoryEntry[]
}

export interface Judged {
  /** The user's options at that time: with others it is looked at closely again. */
  readonly option: number
  readonly critical: number
  /** Tokens. */
  readonly window: number
  /** Tokens from which on the model is told. */
  readonly limit: number
  /** Of the window, as other tools were told. */
  readonly percent: number
}

export const NEW_CONTEXT: ContextState = { turns: 0, compactions: 0, history: [] }
