/**
 * What hooks say about the context: one line to the model, and the state document described in the design documents.
 * Pure.
 */

import type { ContextState } from "./context.ts"
import { rounded } from "./prompt-count.ts"
import { formatTokens, percent } from "./tokens.ts"
import type { Judgement } from "./track.ts"

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
