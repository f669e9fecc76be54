/** Tracks a session's context and judges how full it is. Pure. */

import { contextTokens } from "../../record/token-counts.ts"
import type { Glance } from "../../record/types.ts"
import type { ContextState } from "./context-state.ts"
import {
  type Circumstances,
  type Compacts,
  compactionPoint,
  compactsHow,
  POINTS_KEPT,
  type Reading,
  windowOf,
} from "./window.ts"
import { charsOf, tokensOfText, type Zone, zoneOf } from "./zone.ts"

/** A compaction also counts what was not sent yet. Surely no more than half of it all. */
const UNSENT = 2

/** Adds what new transcript lines tell; returns the same object if they add nothing. */
export function follow(before: ContextState, seen: Glance): ContextState {
  const { usage, compactions, firstPrompt, chars } = seen
  if (usage === undefined && compactions.length === 0 && chars === 0) return before
  const after = compactions.length === 0 ? before : compacted(before, seen)
  if (usage !== undefined) {
    const { model, version } = usage
    const { estimated: _estimated, chars: _chars, points, most, ...rest } = after
    // A different model may have a different window, so what was learnt about the previous one does not apply.
    const isSame = after.model === undefined || after.model === model
    return {
      ...rest,
      ...(points === undefined || !isSame ? {} : { points }),
      ...(most === undefined || !isSame ? {} : { most }),
      tokens: contextTokens(usage),
      model,
      ...(version === undefined ? {} : { version }),
      ...(after.base === undefined && firstPrompt !== undefined ? { base: firstPrompt } : {}),
    }
  }
  if (after.tokens !== undefined && after.estimated !== true) return after
  // Claude Code has counted what a compaction leaves, its summary included.
  const left = charsOf(compactions.at(-1)?.postTokens ?? 0)
  const total = Math.max(left, (after.chars ?? 0) + chars)
  return { ...after, estimated: true, chars: total, tokens: (after.base ?? 0) + tokensOfText(total) }
}

function compacted({ told: _told, ...before }: ContextState, { compactions }: Glance): ContextState {
  const automatic = compactions.flatMap(({ trigger, preTokens }) =>
    trigger === "auto" && preTokens !== undefined ? [preTokens] : [],
  )
  const read = before.estimated === true ? 0 : (before.tokens ?? 0)
  const found = compactions.map(({ preTokens = 0 }) => preTokens / UNSENT)
  return {
    ...before,
    compactions: before.compactions + compactions.length,
    most: Math.max(before.most ?? 0, read, ...found),
    // Without a new automatic compaction, nothing was learnt.
    ...(automatic.length === 0
      ? {}
      : { points: [...(before.points ?? []), ...automatic].slice(-POINTS_KEPT) }),
    estimated: true,
    chars: 0,
    history: [],
  }
}

export interface Judgement {
  readonly tokens: number
  readonly window: number
  readonly share: number
  readonly compactsAt: number
  readonly compacts: Compacts
  /** Whether the compaction point was observed and not only computed by Claude Code's formula. */
  readonly learnt: boolean
  readonly pressure: number
  readonly zone: Zone
}

/** @returns undefined before the first reading */
export function judge(
  { tokens, model, version, most = 0, points = [] }: Reading,
  { option, told, limits, thresholds }: Circumstances,
): Judgement | undefined {
  if (tokens === undefined) return undefined
  const window = windowOf({ model, option, told, seen: Math.max(tokens, most), limits })
  const { at, learnt } = compactionPoint({ window, version, points, tokens, limits })
  const pressure = tokens / at
  const zone = zoneOf(pressure, thresholds)
  const compacts = compactsHow({ limits, version })
  return { tokens, window, share: tokens / window, compactsAt: at, compacts, learnt, pressure, zone }
}

/** Length of the history, as the design documents specify. */
const HISTORY = 50

/** @param share of the window; undefined before the first reading */
export function withPrompt(context: ContextState, share: number | undefined, now: number): ContextState {
  const turns = context.turns + 1
  const { tokens } = context
  if (tokens === undefined || share === undefined) return { ...context, turns }
  const entry = { ts: now, tokens, pct: rounded(share), turns }
  return { ...context, turns, history: [...context.history, entry].slice(-HISTORY) }
}

/** To three decimals, as the design documents specify. */
export const rounded = (share: number): number => Math.round(share * 1000) / 1000
