/**
 * The autopilot at most prompts: nothing of note has happened since it looked closely (autopilot.ts, which is loaded only
 * then): the same model, the same percent, no compaction, not nearly full.
 */
import type { Taken } from "../archive/take.ts"
import type { ContextState } from "../autopilot/context.ts"
import { withPrompt } from "../autopilot/prompt-count.ts"
import type { Config } from "../config/options.ts"
import { glance } from "../transcript/glance.ts"

/**
 * @param isPrompt a human's prompt has come
 * @returns undefined when a closer look is needed
 */
export function glancedAt(
  known: ContextState,
  own: Taken | undefined,
  isPrompt: boolean,
  config: Config,
  now: number,
): ContextState | undefined {
  const tokens = own === undefined ? undefined : tokensNow(known, own)
  if (own === undefined || tokens === undefined) return undefined
  const context = { ...known, tokens, at: own.captured.archived }
  if (!isPrompt) return context
  const { judged, warned } = known
  if (judged?.option !== config["autopilot.window"] || judged.critical !== config["autopilot.critical"])
    return undefined
  if (tokens >= judged.limit && warned !== true) return undefined
  const share = tokens / judged.window
  return Math.round(share * 100) === judged.percent ? withPrompt(context, share, now) : undefined
}

/** In the context; undefined when the newest answer alone does not tell. */
function tokensNow(known: ContextState, { captured, fresh }: Taken): number | undefined {
  const { at, model, tokens, estimated } = known
  const { state, superseded, archived } = captured
  if (state !== "current" || superseded !== undefined || estimated === true) return undefined
  if (archived === at) return tokens
  const [first, ...more] = fresh
  if (first === undefined || first.from !== at || more.length > 0) return undefined
  const { usage, compactions } = glance(first.content, false)
  if (compactions.length > 0) return undefined
  if (usage === undefined) return tokens
  return usage.model === model
    ? usage.input + usage.cacheRead + usage.cacheCreation + usage.output
    : undefined
}
