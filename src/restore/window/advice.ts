/**
 * What is said about the context in the words of the design documents: one line to the model, the state document, and
 * the report to people. Pure.
 */
import { count, percent } from "../../base/text.ts"
import { type ContextState, type Judgement, rounded } from "./context-state.ts"
import { formatTokens, type Zone } from "./zone.ts"

/** What is told once on the way to a compaction. */
interface Advice {
  readonly zone: Zone
  /** For the model; empty below the critical zone. */
  readonly warning: string
  /** One line for the user, which the model does not see. */
  readonly notice: string
}

export function adviceOn(judgement: Judgement): Advice {
  const { zone } = judgement
  return { zone, warning: zone === "critical" ? warning(judgement) : "", notice: notice(judgement) }
}

const figures = ({ tokens, compactsAt }: Judgement): string =>
  `${formatTokens(tokens)} of ${formatTokens(compactsAt)} tokens`

const limit = ({ compacts }: Judgement): string =>
  compacts === "automatic" ? "the point where it is compacted" : "what Claude Code takes"

const warning = (judgement: Judgement): string =>
  `[ContextAutopilot] Context at ${percent(judgement.pressure, 1)} of ${limit(judgement)} (~${figures(judgement)}). ` +
  "Keep responses concise to extend session."

function notice(judgement: Judgement): string {
  const { zone, compacts, pressure } = judgement
  const near = zone === "critical" && compacts === "automatic" ? ", so compaction is near" : ""
  return (
    `ctxbridge: context at ${percent(pressure)} of ${limit(judgement)} (${figures(judgement)})${near}. ` +
    "/clear is safe at any time: everything is archived."
  )
}

/** `autopilot-state.json` in the format of the design documents. */
export function stateDocument(
  session: string,
  { compactions, told, history }: ContextState,
  { tokens, share }: Judgement,
  now: number,
): string {
  return JSON.stringify({
    sessionId: session,
    lastTokenEstimate: tokens,
    lastPercentage: rounded(share),
    pruneCount: compactions,
    warningIssued: told !== undefined,
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
  return `[ContextAutopilot] [${bar}] ${percent(share, 1)} context used (${figures}) ${parts.join(" | ")}`
}
