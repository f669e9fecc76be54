/** Records a human's prompt in a session's context. Pure. */
import type { ContextState } from "./context.ts"

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
