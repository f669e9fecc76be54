/** What may be archived of an event where the user has excluded folders. Loaded only then. */

import { isExcluded, isExcludedFolder } from "../archive/excluded.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import type { HookEvent } from "../transcript/hook-event.ts"

/** @returns undefined if the user wants nothing of it here, not even a line in the log */
export function wanted(event: HookEvent, paths: PathsAndPolicy): HookEvent | undefined {
  const { transcript, agentTranscript, cwd } = event
  const isOut =
    transcript === undefined
      ? cwd === undefined || isExcludedFolder(paths, cwd)
      : isExcluded(paths, transcript, cwd)
  if (isOut) return undefined
  // A subagent may work in another folder than its session.
  return agentTranscript !== undefined && isExcluded(paths, agentTranscript)
    ? { ...event, agentTranscript: undefined }
    : event
}
