/** What is known of a session's context: a part of its state file, carried from hook to hook. Pure. */
import type { HostLimits } from "../config/load.ts"
import type { Glance } from "../transcript/glance.ts"
import { contextTokens, tokensOfText } from "./tokens.ts"
import { compactionPoint, POINTS_KEPT, windowOf } from "./window.ts"
import { type Thresholds, type Zone, zoneOf } from "./zone.ts"

/** Entries of the history: what the design documents say. */
const HISTORY = 50

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
  /** Since the last compaction. */
  readonly history: readonly HistoryEntry[]
}

export const NEW_CONTEXT: ContextState = { turns: 0, compactions: 0, history: [] }

/** What new lines of the session's transcript add; the same object when they add nothing. */
export function follow(before: ContextState, seen: Glance): ContextState {
  const { usage, compactions, firstPrompt, chars } = seen
  if (usage === undefined && compactions.length === 0 && chars === 0) return before
  const after = compactions.length === 0 ? before : compacted(before, seen)
  if (usage !== undefined) {
    const { estimated: _estimated, chars: _chars, ...rest } = after
    const { model, version } = usage
    return {
      ...rest,
      tokens: contextTokens(usage),
      model,
      ...(version === undefined ? {} : { version }),
      ...(after.base === undefined && firstPrompt !== undefined ? { base: firstPrompt } : {}),
    }
  }
  if (after.tokens !== undefined && after.estimated !== true) return after
  const total = (after.chars ?? 0) + chars
  const left = compactions.at(-1)?.postTokens ?? 0
  return { ...after, chars: total, tokens: (after.base ?? 0) + Math.max(left, tokensOfText(total)) }
}

function compacted(before: ContextState, { compactions }: Glance): ContextState {
  const automatic = compactions.flatMap(({ trigger, preTokens }) =>
    trigger === "auto" && preTokens !== undefined ? [preTokens] : [],
  )
  return {
    ...before,
    compactions: before.compactions + compactions.length,
    points: [...(before.points ?? []), ...automatic].slice(-POINTS_KEPT),
    warned: false,
    estimated: true,
    chars: 0,
    history: [],
  }
}

export interface Circumstances {
  /** The user's option; 0 for none. */
  readonly option: number
  /** What the host told the status line. */
  readonly told?: number | undefined
  readonly limits: HostLimits
  readonly thresholds: Thresholds
}

export interface Judgement {
  readonly tokens: number
  readonly window: number
  /** Share of the window. */
  readonly share: number
  readonly compactsAt: number
  /** The compaction point was seen, and is not only the host's formula. */
  readonly learnt: boolean
  /** Share of the compaction point. */
  readonly pressure: number
  readonly zone: Zone
}

/** What a judgement is made from. */
export interface Reading {
  readonly tokens?: number | undefined
  readonly model?: string | undefined
  /** Of the host. */
  readonly version?: string | undefined
  readonly points?: readonly number[] | undefined
}

/** Undefined before the first reading. */
export function judge(
  { tokens, model, version, points = [] }: Reading,
  { option, told, limits, thresholds }: Circumstances,
): Judgement | undefined {
  if (tokens === undefined) return undefined
  const window = windowOf({ model, option, told, seen: tokens, limits })
  const { at, learnt } = compactionPoint({ window, version, points, tokens, limits })
  const pressure = tokens / at
  const zone = zoneOf(pressure, thresholds)
  return { tokens, window, share: tokens / window, compactsAt: at, learnt, pressure, zone }
}

/** A human's prompt has come. */
export function withPrompt(
  context: ContextState,
  judgement: Judgement | undefined,
  now: number,
): ContextState {
  const turns = context.turns + 1
  if (judgement === undefined) return { ...context, turns }
  const { tokens, share } = judgement
  const entry = { ts: now, tokens, pct: rounded(share), turns }
  return { ...context, turns, history: [...context.history, entry].slice(-HISTORY) }
}

/** To three decimals, as the design documents have it. */
export const rounded = (share: number): number => Math.round(share * 1000) / 1000
