/** What becomes of an event whose reply is not begun, because no core was free for its hook. Loaded only then. */
import { projectOf } from "../archive/project.ts"
import { isCleared, SILENT_CLEAR_LASTS } from "./cleared-sessions.ts"
import type { Reply, ReplyRequest } from "./reply.ts"
import { withCompactions } from "./unanswered-compactions.ts"

/** @returns undefined if nothing else would make up for the reply */
export function gaveWay(request: ReplyRequest): Reply | undefined {
  if (isOnlyChance(request)) return undefined
  const { event, state, before, own, now, earlier } = request
  const late = { text: "", late: true }
  // The next prompt may ask as well.
  if (earlier !== undefined) return { ...late, state: { ...state, recallDue: true } }
  if (event.source !== "compact") return { ...late, state }
  // If nobody announced it, it was passed over because this hook would answer.
  const other = { ...event, source: undefined }
  const passed = before.boundaryDue === true ? { ...state, boundaryDue: true } : state
  return { ...late, state: withCompactions(other, before, passed, own, now) }
}

/** After /clear, which some hosts report as a new session, and for what a resumed one has forgotten. */
function isOnlyChance({ event, settings, now }: ReplyRequest): boolean {
  const { name, source, cwd } = event
  if (name !== "session-start" || source === "compact") return false
  if (source !== "startup") return true
  return cwd !== undefined && isCleared(settings.paths.dataHome, projectOf(cwd), now - SILENT_CLEAR_LASTS)
}
