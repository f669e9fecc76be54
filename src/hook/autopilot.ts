/**
 * How full the window is, followed from hook to hook: O(new bytes), from what was archived just now. Opens no database
 * (docs/adr/0003).
 */
import { closeSync, fstatSync } from "node:fs"
import type { Taken } from "../archive/take.ts"
import { learnPoints, learntPoints, publishState, toldWindow } from "../autopilot/files.ts"
import { stateDocument, warning } from "../autopilot/report.ts"
import {
  type ContextState,
  follow,
  type Judgement,
  judge,
  NEW_CONTEXT,
  withPrompt,
} from "../autopilot/track.ts"
import { hostLimits, type Settings } from "../config/load.ts"
import { glance } from "../transcript/glance.ts"
import { openSource } from "../vault/capture.ts"
import { readExactly } from "../vault/file.ts"
import { type HookEvent, isHumanPrompt } from "./event.ts"
import type { SessionState } from "./state.ts"

/** Bytes at the end of a transcript that are looked at where another process archived what is new. */
const TAIL = 1 << 20
const NEWLINE = 0x0a

export interface Watched {
  readonly context: ContextState
  /** At a human's prompt, once there is a reading. */
  readonly judgement: Judgement | undefined
  /** For the model. */
  readonly advice: string | undefined
}

export interface Watch {
  readonly event: HookEvent
  readonly settings: Settings
  /** As the last hook left it. */
  readonly before: SessionState
  readonly taken: readonly Taken[]
  /** ms since the epoch. */
  readonly now: number
}

export function watch({ event, settings, before, taken, now }: Watch): Watched {
  const { dataHome } = settings.paths
  const known = before.context ?? NEW_CONTEXT
  const own = taken.find(({ path }) => path === event.transcript)
  const context = own === undefined ? known : followed(known, own)
  if (context.points !== known.points && context.model !== undefined && context.points !== undefined) {
    learnPoints(dataHome, context.model, context.points)
  }
  // Hooks of several settings files are called for one prompt.
  const isCounted = before.prompt === event.prompt && before.promptAt === own?.captured.size
  if (event.name !== "user-prompt-submit" || !isHumanPrompt(event) || isCounted) {
    return { context, judgement: undefined, advice: undefined }
  }
  const points =
    context.points ?? (context.model === undefined ? undefined : learntPoints(dataHome, context.model))
  const ready = points === undefined ? context : { ...context, points }
  const { config } = settings.resolved
  const judgement = judge(ready, {
    option: config["autopilot.window"],
    told: toldWindow(dataHome, event.session),
    limits: hostLimits(),
    thresholds: { warn: config["autopilot.warn"], critical: config["autopilot.critical"] },
  })
  const isFull = judgement?.zone === "critical" && ready.warned !== true
  const advice = isFull ? warning(judgement) : undefined
  return { context: withPrompt(ready, judgement, now), judgement, advice }
}

/** For tools that read the design documents' file. */
export function publish({ event, settings, now }: Watch, context: ContextState, judgement: Judgement): void {
  const project = settings.resolved.config["autopilot.project-state"] ? event.cwd : undefined
  publishState(settings.paths.dataHome, stateDocument(event.session, context, judgement, now), project)
}

function followed(context: ContextState, { path, captured, fresh }: Taken): ContextState {
  const { archived, superseded } = captured
  const at = superseded === undefined ? (context.at ?? 0) : 0
  if (archived === at && superseded === undefined) return context
  let next = context
  const first = fresh[0]?.from
  if (captured.state === "current" && first === at) {
    for (const { content } of fresh) next = follow(next, glance(content))
  } else {
    // Another process archived what is between: the end says all but what an estimate needs.
    const seen = glance(endOf(path, at))
    next = follow({ ...context, base: context.base ?? 0 }, { ...seen, chars: 0 })
  }
  return { ...next, at: archived }
}

/** Whole lines at the end of the transcript, from `from` on, if that is not too much. */
function endOf(path: string, from: number): Uint8Array {
  const source = openSource(path)
  if (source === undefined) return new Uint8Array()
  try {
    const { size } = fstatSync(source.fd)
    const begin = Math.max(size - TAIL, from > size ? 0 : from)
    const bytes = readExactly(source.fd, begin, size - begin)
    return begin === from ? bytes : bytes.subarray(bytes.indexOf(NEWLINE) + 1)
  } finally {
    closeSync(source.fd)
  }
}
