/**
 * A close look at how full the window is: O(new bytes), from what was just archived, without opening the database
 * (docs/adr/0003). Called only when the glance in watch-context.ts is not enough.
 */

import type { Taken } from "../archive/capture-transcript.ts"
import { type Advice, adviceOn, stateDocument } from "../autopilot/advice.ts"
import { learnPoints, learntPoints, publishState, toldWindow } from "../autopilot/autopilot-files.ts"
import type { ContextState } from "../autopilot/context-state.ts"
import { follow, type Judgement, judge, withPrompt } from "../autopilot/track-context.ts"
import { wishesIn } from "../autopilot/window.ts"
import { isNews } from "../autopilot/zone.ts"
import { glance } from "../claude/glance.ts"
import type { HostLimits, Settings } from "../config/load.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { followFile } from "./follow-file.ts"

interface CloseLook {
  readonly context: ContextState
  /** Set at a human's prompt, once there is a reading. */
  readonly judgement: Judgement | undefined
  readonly advice: Advice | undefined
}

interface Watch {
  readonly event: HookEvent
  readonly settings: Settings
  readonly known: ContextState
  /** Of the session's own transcript. */
  readonly own: Taken | undefined
  /** Whether this is a human's prompt that has not been counted yet. */
  readonly isPrompt: boolean
  /** ms since the epoch. */
  readonly now: number
  readonly limits: HostLimits
}

export function watch({ event, settings, known, own, isPrompt, now, limits }: Watch): CloseLook {
  const { dataHome } = settings.paths
  let context = own === undefined ? known : followed(known, own)
  const { model } = context
  if (context.points !== known.points && model !== undefined && context.points !== undefined) {
    // If this session has not looked up what others learned, it adds to that now.
    const former = known.points === undefined ? learntPoints(dataHome, model) : []
    context = { ...context, points: learnPoints(dataHome, model, [...former, ...context.points]) }
  }
  if (!isPrompt) return { context, judgement: undefined, advice: undefined }
  const points = context.points ?? (model === undefined ? undefined : learntPoints(dataHome, model))
  const ready = points === undefined ? context : { ...context, points }
  const { option, thresholds } = wishesIn(settings.resolved.config)
  const told = toldWindow(dataHome, event.session)
  const judgement = judge(ready, { option, told, limits, thresholds })
  const counted = withPrompt(ready, judgement?.share, now)
  if (judgement === undefined) return { context: counted, judgement, advice: undefined }
  const { window, share, compactsAt, zone } = judgement
  const judged = { option, ...thresholds, window, compactsAt, percent: Math.round(share * 100) }
  // Told only once it is true that all is archived.
  const isTime = isNews(zone, ready.told) && own?.captured.state === "current"
  return { context: { ...counted, judged }, judgement, advice: isTime ? adviceOn(judgement) : undefined }
}

/** Writes the state file defined in the design documents, for other tools to read. */
export function publish({ event, settings, now }: Watch, context: ContextState, judgement: Judgement): void {
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
