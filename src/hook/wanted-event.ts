/** What may be archived of an event where the user has excluded folders. Loaded only then. */
import type { HookEvent } from "../agents/hook-event.ts"
import { type Exclusion, isExcluded, isExcludedFolder } from "../archive/excluded.ts"

/** @returns undefined if the user wants nothing of it here, not even a line in the log */
export function wanted(event: HookEvent, place: Exclusion): HookEvent | undefined {
  const { transcript, agentTranscript, cwd } = event
  const isOut =
    transcript === undefined
      ? cwd === undefined || isExcludedFolder(place, cwd)
      : isExcluded(place, transcript, cwd)
  if (isOut) return undefined
  // A subagent may work in another folder than its session.
  return agentTranscript !== undefined && isExcluded(place, agentTranscript)
    ? { ...event, agentTranscript: undefined }
    : event
}
