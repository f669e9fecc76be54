/** What a hook does about values that were recognised as secrets in its session. Loaded only if there are any. */
import { captureTranscript, type Taken, type TakeOptions } from "../archive/capture-transcript.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { withoutKnown } from "../secrets/known.ts"
import { isDue, knownOf, refreshDue } from "../vault/known-values.ts"
import { knownFile } from "../vault/layout.ts"
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

interface Knowing {
  /** The state without the values that are known. */
  readonly state: SessionState
  /** Whether the job has to search what was archived before. */
  readonly due: boolean
}

/**
 * @param size of the file of what is known, before anything was taken
 * @param before the state as it was read
 */
export function knowing(
  place: PathsAndPolicy,
  session: string,
  size: number,
  before: SessionState,
  after: SessionState,
): Knowing {
  const clean: Record<string, unknown> = {}
  for (const key of ["prompt", "focus", "summary"] as const) {
    const text = after[key]
    if (text === undefined || text === before[key]) continue
    const { known } = knownOf(place, session, "")
    clean[key] = withoutKnown(text, known)
  }
  const state = Object.keys(clean).length === 0 ? after : { ...after, ...clean }
  const file = knownFile(place.dataHome, session)
  refreshDue(file, size)
  return { state, due: isDue(file) }
}
