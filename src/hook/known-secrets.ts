/** What a hook does about values that were recognised as secrets in its session. Loaded only if there are any. */

import type { PathsAndPolicy } from "../config/load.ts"
import { withoutKnown } from "../secrets/known.ts"
import { captureTranscript, type Taken, type TakeOptions } from "../vault/capture.ts"
import { isDue, knownOf, refreshDue } from "../vault/known-values.ts"
import { knownFile } from "../vault/layout.ts"
import type { Added, HookCall, Later } from "./call.ts"
import type { SessionState } from "./state.ts"

/** For `captureTranscript`. */
export const known = knownOf

/** Goes on where a call stopped that had not expected to recognise anything. */
export function takeOn(paths: PathsAndPolicy, path: string, options: TakeOptions, first: Taken): Taken {
  const second = captureTranscript(paths, path, { ...options, known: knownOf })
  const fresh = [...first.fresh, ...second.fresh]
  const captured = { ...second.captured, taken: first.captured.taken + second.captured.taken }
  const superseded = first.captured.superseded ?? captured.superseded
  return {
    ...second,
    captured: { ...captured, superseded },
    fresh,
    unmarked: first.unmarked || second.unmarked,
  }
}

/** Takes the values that are known out of what this call remembers, and asks for the job if it has to search for them. */
function withoutKnownSecrets({ event, settings, before, state, known: size = 0, isJobDue }: HookCall): Added {
  const { paths } = settings
  const clean: Record<string, unknown> = {}
  for (const key of ["prompt", "focus", "summary"] as const) {
    const text = state[key]
    if (text === undefined || text === before[key]) continue
    clean[key] = withoutKnown(text, knownOf(paths, event.session, "").known)
  }
  const isClean = Object.keys(clean).length === 0
  const file = knownFile(paths.dataHome, event.session)
  refreshDue(file, size)
  return {
    isJobDue: isJobDue === true || isDue(file),
    state: isClean ? state : ({ ...state, ...clean } as SessionState),
  }
}

export const SECRETS: Later = { secrets: withoutKnownSecrets }
