/**
 * The autopilot's part of a hook call. For most calls a glance is enough; the close look (autopilot.ts) is taken when
 * something noteworthy has happened.
 */

import type { Taken } from "../archive/capture-transcript.ts"
import type { Advice } from "../autopilot/advice.ts"
import { type ContextState, NEW_CONTEXT } from "../autopilot/context-state.ts"
import { wishesIn } from "../autopilot/window.ts"
import { isNews, zoneOf } from "../autopilot/zone.ts"
import { glance } from "../claude/glance.ts"
import { isHumanPrompt } from "../claude/hooks.ts"
import { type HostLimits, hostLimits, type Settings } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { contextTokens } from "../transcript/token-counts.ts"
import { publish, watch } from "./autopilot.ts"
import type { SessionState } from "./state.ts"

export interface Watched {
  readonly context: ContextState
  /** Told if nothing else is given back. */
  readonly advice?: Advice | undefined
  /** Publishes the state for other tools. */
  readonly publish?: ((context: ContextState) => void) | undefined
}

export interface WatchedCall {
  readonly event: HookEvent
  /** As the last hook left it. */
  readonly before: SessionState
  /** With what this event adds; the same object if that is nothing. */
  readonly state: SessionState
  /** Of the session's own transcript. */
  readonly own: Taken | undefined
  readonly settings: Settings
  /** ms since the epoch. */
  readonly now: number
  /** Default: what the environment says. */
  readonly limits?: HostLimits
}

/**
 * Determines how full the window is, at each human's prompt and whenever the session's state is written anyway.
 * Otherwise it is left to the next prompt, because writing the state costs more than looking.
 */
export function watchContext(call: WatchedCall): Watched | undefined {
  const { event, before, state, own, settings, now, limits = hostLimits() } = call
  if (!settings.resolved.config["autopilot.enabled"]) return undefined
  const known = before.context ?? NEW_CONTEXT
  // The hooks of several settings files are called for the same prompt.
  const isCounted = before.prompt === state.prompt && before.promptAt === state.promptAt
  const isPrompt = event.name === "user-prompt-submit" && isHumanPrompt(event) && !isCounted
  if (!isPrompt && (state === before || (own?.captured.archived ?? 0) === (known.at ?? 0))) return undefined
  const context = glancedAt(known, own, isPrompt, settings.resolved.config)
  if (context !== undefined) return { context }
  const request = { event, settings, known, own, isPrompt, now, limits }
  const watched = watch(request)
  const { judgement } = watched
  const tell = judgement && ((told: ContextState) => publish(request, told, judgement))
  return { context: watched.context, advice: watched.advice, publish: tell }
}

/**
 * The new context if nothing noteworthy has happened: same model, same percentage, no compaction, no zone to tell of.
 *
 * @param isPrompt whether this is a human's prompt
 * @returns undefined if a closer look is needed
 */
function glancedAt(
  known: ContextState,
  own: Taken | undefined,
  isPrompt: boolean,
  config: Config,
): ContextState | undefined {
  // Nothing has been said yet, so there is no reading.
  if (known.tokens === undefined && (own?.captured.archived ?? 0) === (known.at ?? 0))
    return isPrompt ? { ...known, turns: known.turns + 1 } : known
  const tokens = own === undefined ? undefined : tokensNow(known, own)
  if (own === undefined || tokens === undefined) return undefined
  const context = { ...known, tokens, at: own.captured.archived }
  if (!isPrompt) return context
  const { judged, told } = known
  const { option, thresholds } = wishesIn(config)
  if (judged?.option !== option || judged.warn !== thresholds.warn || judged.critical !== thresholds.critical)
    return undefined
  if (isNews(zoneOf(tokens / judged.compactsAt, thresholds), told)) return undefined
  const share = tokens / judged.window
  // The history gets an entry whenever the percentage changes. The smaller the file, the faster it is replaced.
  return Math.round(share * 100) === judged.percent ? { ...context, turns: known.turns + 1 } : undefined
}

/** Tokens in the context; undefined if the newest answer alone does not tell. */
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
