/** The report described in the design documents. Pure. */
import { count } from "../util/text.ts"
import { formatTokens, percent } from "./token-figures.ts"
import type { Judgement } from "./track-context.ts"
import type { Zone } from "./zone.ts"

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
