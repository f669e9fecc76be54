/**
 * The autopilot of a hook call. At most of them a glance is enough; the closer look (autopilot.ts) is for
 * when something of note has happened.
 */
import type { Taken } from "../archive/take.ts"
import { type ContextState, NEW_CONTEXT } from "../autopilot/context.ts"
import type { Settings } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { glance } from "../transcript/glance.ts"
import { contextTokens } from "../transcript/usage.ts"
import { publish, watch } from "./autopilot.ts"
import { type HookEvent, isHumanPrompt } from "./event.ts"
import type { SessionState } from "./state.ts"

export interface Watched {
  readonly context: ContextState
  /** For the model, when nothing else is given back. */
  readonly advice?: string | undefined
  /** Tells other tools. */
  readonly publish?: ((context: ContextState) => void) | undefined
}

export interface WatchedCall {
  readonly event: HookEvent
  /** As the last hook left it. */
  readonly before: SessionState
  /** With what this event adds; the same object when it adds nothing. */
  readonly state: SessionState
  /** Of the session's own transcript. */
  readonly own: Taken | undefined
  readonly settings: Settings
  /** ms since the epoch. */
  readonly now: number
}

/**
 * How full the window is: at each human's prompt, and when the session's state is written in any case. Otherwise the
 * next prompt looks at what came now: writing the state costs more than that.
 */
export function watchContext(call: WatchedCall): Watched | undefined {
  const { event, before, state, own, settings, now } = call
  if (!settings.resolved.config["autopilot.enabled"]) return undefined
  const known = before.context ?? NEW_CONTEXT
  // Hooks of several settings files are called for one prompt.
  const isCounted = before.prompt === state.prompt && before.promptAt === state.promptAt
  const isPrompt = event.name === "user-prompt-submit" && isHumanPrompt(event) && !isCounted
  if (!isPrompt && (state === before || (own?.captured.archived ?? 0) === (known.at ?? 0))) return undefined
  const context = glancedAt(known, own, isPrompt, settings.resolved.config)
  if (context !== undefined) return { context }
  const request = { event, settings, known, own, isPrompt, now }
  const watched = watch(request)
  const { judgement } = watched
  const tell = judgement && ((told: ContextState) => publish(request, told, judgement))
  return { context: watched.context, advice: watched.advice, publish: tell }
}

/**
 * What there is to know when nothing of note has happened: the same model, the same percent, no compaction, not nearly full.
 *
 * @param isPrompt a human's prompt has come
 * @returns undefined when a closer look is needed
 */
function glancedAt(
  known: ContextState,
  own: Taken | undefined,
  isPrompt: boolean,
  config: Config,
): ContextState | undefined {
  // Nothing was said yet: there is nothing to be known.
  if (known.tokens === undefined && (own?.captured.archived ?? 0) === (known.at ?? 0))
    return isPrompt ? { ...known, turns: known.turns + 1 } : known
  const tokens = own === undefined ? undefined : tokensNow(known, own)
  if (own === undefined || tokens === undefined) return undefined
  const context = { ...known, tokens, at: own.captured.archived }
  if (!isPrompt) return context
  const { judged, warned } = known
  if (judged?.option !== config["autopilot.window"] || judged.critical !== config["autopilot.critical"])
    return undefined
  if (tokens >= judged.limit && warned !== true) return undefined
  const share = tokens / judged.window
  // The history has an entry for each change by a percent: the smaller the file, the sooner it is replaced.
  return Math.round(share * 100) === judged.percent ? { ...context, turns: known.turns + 1 } : undefined
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
  return usage.model === model ? contextTokens(usage) : undefined
}
