/**
 * The reply when the database cannot be written: locked throughout, on a full or read-only disk, or of a later schema.
 * Uses what can be read. Indexes and records nothing, so the hooks of several settings files may each answer.
 */

import type { Database } from "../archive/database.ts"
import { open } from "../archive/open.ts"
import { projectOf } from "../archive/project.ts"
import { latestSession, spokenIn } from "../archive/queries/sessions.ts"
import { additionalContext } from "../claude/hooks.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import { clearedSession, SILENT_CLEAR_LASTS } from "./cleared-sessions.ts"
import { instructionsFor, restored } from "./event-restore.ts"
import type { Reply, ReplyRequest } from "./reply.ts"
import { answeredAt } from "./state.ts"

export function readOnlyReply(request: ReplyRequest): Reply {
  const db = open(request.settings.paths.dataHome, "read-only-hook")
  // Left open, since the process ends anyway.
  return answer(db, request)
}

function answer(db: Database, request: ReplyRequest): Reply {
  const { event, state, now } = request
  if (event.name === "pre-compact") return { text: instructionsFor(db, request), state }
  // Only lines that are not indexed yet would show whether this prompt follows a compaction.
  if (event.name === "user-prompt-submit") return { text: "", state }
  if (event.source === "compact") {
    const { summary: _used, focus: _told, ...rest } = state
    const text = additionalContext(event, restored(db, request, "compact", event.session).text)
    return { text, state: { ...rest, restoreTime: answeredAt(rest, now) } }
  }
  return { text: begun(db, request), state }
}

function begun(db: Database, request: ReplyRequest): string {
  const { event, settings, now } = request
  if (event.cwd === undefined) return ""
  const project = projectOf(event.cwd)
  const since = event.source === "clear" ? 0 : now - SILENT_CLEAR_LASTS
  const cleared = clearedSession(settings.paths.dataHome, project, since)
  const last = cleared === undefined ? latestSession(db, project, event.session) : spokenIn(db, cleared)
  if (last === undefined) return ""
  if (event.source === "clear" || cleared !== undefined)
    return additionalContext(event, restored(db, request, "clear", last).text)
  if (event.source !== "startup" || !settings.resolved.config["restore.startup"]) return ""
  const related = settings.resolved.config["restore.related"]
  const host = { ...settings.paths, cwd: event.cwd }
  return additionalContext(event, pointerTo(db, last, host, { related }).text)
}
