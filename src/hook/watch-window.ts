/**
 * How full the window is, and what is told of it. For most calls a glance is enough; the close look is taken when
 * something noteworthy has happened, without opening the database (docs/adr/0003). Work is O(new bytes).
 */

import { glance } from "../claude/glance.ts"
import { type ClaudeLimits, claudeLimits } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { NEWLINE } from "../record/lines-with.ts"
import { contextTokens } from "../record/token-counts.ts"
import { stateDocument } from "../restore/window/advice.ts"
import {
  type ContextState,
  follow,
  type Judgement,
  judge,
  learnPoints,
  learntPoints,
  NEW_CONTEXT,
  publishState,
  toldWindow,
  withPrompt,
} from "../restore/window/context-state.ts"
import { wishesIn } from "../restore/window/window.ts"
import { isNews, zoneOf } from "../restore/window/zone.ts"
import type { Taken } from "../vault/capture.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"
import type { Added, HookCall } from "./call.ts"

/**
 * Determines how full the window is, at each human's prompt and whenever the session's state is written anyway.
 * Otherwise it is left to the next prompt, because writing the state costs more than looking.
 *
 * @param limits what the user has set of Claude Code's window; default: what the environment says
 */
export function watchWindow(call: HookCall, limits = claudeLimits()): Added | undefined {
  const { event, before, state, own, settings } = call
  if (!settings.resolved.config["autopilot.enabled"]) return undefined
  const known = before.context ?? NEW_CONTEXT
  // The hooks of several settings files are called for the same prompt.
  const isCounted = before.prompt === state.prompt && before.promptAt === state.promptAt
  const isPrompt = event.isHuman && !isCounted
  if (!isPrompt && (state === before || (own?.captured.archived ?? 0) === (known.at ?? 0))) return undefined
  const context = glancedAt(known, own, isPrompt, settings.resolved.config)
  if (context !== undefined) return { state: { ...state, context } }
  return watchClosely(call, known, isPrompt, limits)
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

/** @param isPrompt whether this is a human's prompt that has not been counted yet */
function watchClosely(call: HookCall, known: ContextState, isPrompt: boolean, limits: ClaudeLimits): Added {
  const { event, state, settings, own, now } = call
  const { dataHome } = settings.paths
  let context = own === undefined ? known : followed(known, own)
  const { model } = context
  if (context.points !== known.points && model !== undefined && context.points !== undefined) {
    // If this session has not looked up what others learned, it adds to that now.
    const former = known.points === undefined ? learntPoints(dataHome, model) : []
    context = { ...context, points: learnPoints(dataHome, model, [...former, ...context.points]) }
  }
  if (!isPrompt) return { state: { ...state, context } }
  const points = context.points ?? (model === undefined ? undefined : learntPoints(dataHome, model))
  const ready = points === undefined ? context : { ...context, points }
  const { option, thresholds } = wishesIn(settings.resolved.config)
  const told = toldWindow(dataHome, event.session)
  const judgement = judge(ready, { option, told, limits, thresholds })
  const counted = withPrompt(ready, judgement?.share, now)
  if (judgement === undefined) return { state: { ...state, context: counted } }
  const { window, share, compactsAt, zone } = judgement
  const judged = { option, ...thresholds, window, compactsAt, percent: Math.round(share * 100) }
  // Told only once it is true that all is archived.
  const isTime = isNews(zone, ready.told) && own?.captured.state === "current"
  return {
    state: { ...state, context: { ...counted, judged } },
    news: isTime ? judgement : undefined,
    publish: (told) => publish(call, told, judgement),
  }
}

/** Writes the state file defined in the design documents, for other tools to read. */
function publish({ event, settings, now }: HookCall, context: ContextState, judgement: Judgement): void {
  const project = settings.resolved.config["autopilot.project-state"] ? event.cwd : undefined
  publishState(settings.paths.dataHome, stateDocument(event.session, context, judgement, now), project)
}

/** Brings the context up to date with the bytes after those followed last, usually the ones just archived. */
function followed(context: ContextState, { path, captured, fresh }: Taken): ContextState {
  const { archived, superseded } = captured
  const at = superseded === undefined ? (context.at ?? 0) : 0
  if (archived === at && superseded === undefined) return context
  let next = context
  if (captured.state === "current" && fresh[0]?.from === at) {
    for (const { content } of fresh) next = follow(next, glance(content, next.base === undefined))
  } else {
    next = followFile(next, path, at)
  }
  return { ...next, at: archived }
}

/** Bytes to read at the end of the transcript, to follow it there. */
const TAIL = 1 << 20

/**
 * Follows a session's context by the transcript itself: when another process archived the new part, or nobody yet.
 *
 * @param at offset up to which `context` has followed
 */
export function followFile(context: ContextState, path: string, at: number): ContextState {
  const { content, whole } = endOf(path, at)
  const seen = glance(content, context.base === undefined)
  // The end of the transcript gives everything except what an estimate needs.
  return whole
    ? follow(context, seen)
    : follow({ ...context, base: context.base ?? 0 }, { ...seen, chars: 0 })
}

/** Whole lines at the end of the transcript, from `from` on unless that is too much. */
function endOf(path: string, from: number): { content: Uint8Array; whole: boolean } {
  const found = withSource(path, (fd, size) => {
    const begin = Math.max(size - TAIL, from > size ? 0 : from)
    const bytes = readExactly(fd, begin, size - begin)
    const whole = begin === from
    return { content: whole ? bytes : bytes.subarray(bytes.indexOf(NEWLINE) + 1), whole }
  })
  return found ?? { content: new Uint8Array(), whole: false }
}
