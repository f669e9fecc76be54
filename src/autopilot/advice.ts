/**
 * What hooks say about the context: one line to the model, and the state document described in the design documents.
 * Pure.
 */

import type { ContextState } from "./context-state.ts"
import { formatTokens, percent } from "./token-figures.ts"
import { type Judgement, rounded } from "./track-context.ts"

/** The model is told this once. */
export function warning({ tokens, compactsAt, pressure }: Judgement): string {
  const figures = `~${formatTokens(tokens)} of ${formatTokens(compactsAt)} tokens`
  return (
    `[ContextAutopilot] Context at ${percent(pressure)} of the point where it is compacted (${figures}). ` +
    "Keep responses concise to extend session."
  )
}

/** `autopilot-state.json` in the format of the design documents. */
export function stateDocument(
  session: string,
  { compactions, warned = false, history }: ContextState,
  { tokens, share }: Judgement,
  now: number,
): string {
  return JSON.stringify({
    sessionId: session,
    lastTokenEstimate: tokens,
    lastPercentage: rounded(share),
    pruneCount: compactions,
    warningIssued: warned,
    lastCheck: now,
    history,
  })
}
