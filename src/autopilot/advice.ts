/**
 * What is said about the context in the words of the design documents: one line to the model, the state document, and
 * the report to people. Pure.
 */
import { count } from "../util/text.ts"
import type { ContextState } from "./context-state.ts"
import { formatTokens, percent } from "./token-figures.ts"
import { type Judgement, rounded } from "./track-context.ts"
import type { Zone } from "./zone.ts"

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

const BAR = 20
const MARKS: Readonly<Record<Zone, string>> = { ok: "=", warning: "#", critical: "!" }
const STATUS: Readonly<Record<Zone, string>> = { ok: "OK", warning: "WARNING", critical: "OPTIMIZING" }

interface ReportFacts {
  readonly judgement: Judgement
  readonly turns: number
  readonly compactions: number
  /** Turns until the critical zone. */
  readonly runway: number | undefined
}

/** `[ContextAutopilot] [=========-----------] 43.4% context used (…) Status: OK | …` */
export function report({ judgement, turns, compactions, runway }: ReportFacts): string {
  const { tokens, window, share, zone } = judgement
  const full = Math.max(0, Math.min(BAR, Math.round(share * BAR)))
  const bar = MARKS[zone].repeat(full) + "-".repeat(BAR - full)
  const parts = [
    `Status: ${STATUS[zone]}`,
    `Optimizations: ${count(compactions, "prune cycle")}`,
    ...(runway === undefined ? [] : [`~${count(runway, "turn")} until optimization needed`]),
  ]
  const figures = `~${formatTokens(tokens)}/${formatTokens(window)} tokens, ${count(turns, "turn")}`
  return `[ContextAutopilot] [${bar}] ${percent(share)} context used (${figures}) ${parts.join(" | ")}`
}
