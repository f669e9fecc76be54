/**
 * A close look at how full the window is: O(new bytes), from what was just archived, without opening the database
 * (docs/adr/0003). Called only when the glance in watch-context.ts is not enough.
 */
import { glance } from "../agents/claude-code/glance.ts"
import type { HookEvent } from "../agents/hook-event.ts"
import type { Taken } from "../archive/capture-transcript.ts"
import { stateDocument, warning } from "../autopilot/advice.ts"
import { learnPoints, learntPoints, publishState, toldWindow } from "../autopilot/autopilot-files.ts"
import type { ContextState } from "../autopilot/context-state.ts"
import { follow, type Judgement, judge, withPrompt } from "../autopilot/track-context.ts"
import { hostLimits, type Settings } from "../config/load.ts"
import { NEWLINE } from "../util/byte-lines.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"

/** Bytes to read at the end of the transcript when another process archived the new part. */
const TAIL = 1 << 20

export interface CloseLook {
  readonly context: ContextState
  /** Set at a human's prompt, once there is a reading. */
  readonly judgement: Judgement | undefined
  /** For the model. */
  readonly advice: string | undefined
}

export interface Watch {
  readonly event: HookEvent
  readonly settings: Settings
  readonly known: ContextState
  /** Of the session's own transcript. */
  readonly own: Taken | undefined
  /** Whether this is a human's prompt that has not been counted yet. */
  readonly isPrompt: boolean
  /** ms since the epoch. */
  readonly now: number
}

export function watch({ event, settings, known, own, isPrompt, now }: Watch): CloseLook {
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
  const { config } = settings.resolved
  const critical = config["autopilot.critical"]
  const judgement = judge(ready, {
    option: config["autopilot.window"],
    told: toldWindow(dataHome, event.session),
    limits: hostLimits(),
    thresholds: { warn: config["autopilot.warn"], critical },
  })
  const counted = withPrompt(ready, judgement?.share, now)
  if (judgement === undefined) return { context: counted, judgement, advice: undefined }
  const { window, share, compactsAt, zone } = judgement
  const option = config["autopilot.window"]
  const judged = { option, critical, window, limit: compactsAt * critical, percent: Math.round(share * 100) }
  const advice = zone === "critical" && ready.warned !== true ? warning(judgement) : undefined
  return { context: { ...counted, judged }, judgement, advice }
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
    const { content, whole } = endOf(path, at)
    const seen = glance(content, next.base === undefined)
    // The end of the transcript gives everything except what an estimate needs.
    next = whole ? follow(next, seen) : follow({ ...next, base: next.base ?? 0 }, { ...seen, chars: 0 })
  }
  return { ...next, at: archived }
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
