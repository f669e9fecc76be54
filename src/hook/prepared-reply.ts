/** Gives a new session the pointer that was rendered beforehand. Opens no database. */

import { listPending } from "../archive/pending.ts"
import { readPointer } from "../archive/pointers.ts"
import { projectOf } from "../archive/project.ts"
import { additionalContext } from "../claude/hooks.ts"
import { toolName } from "../claude/our-server.ts"
import { namesOurServer } from "../claude/settings/state-file.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { dirname } from "../util/path.ts"
import { isCleared, SILENT_CLEAR_LASTS } from "./cleared-sessions.ts"
import type { Reply, ReplyRequest } from "./reply.ts"

/** @returns undefined if the views must be consulted */
export function preparedReply({ event, settings, state, now }: ReplyRequest): Reply | undefined {
  if (event.source !== "startup" || event.cwd === undefined) return undefined
  const { dataHome } = settings.paths
  const project = projectOf(event.cwd)
  // Just after /clear, some hosts report a continued session as a new one.
  if (isCleared(dataHome, project, now - SILENT_CLEAR_LASTS)) return undefined
  if (!settings.resolved.config["restore.startup"]) return { text: "", state }
  // Checked before the pointer is read: indexing in between removes the pointer.
  if (isBehind(event, dataHome)) return undefined
  const pointer = readPointer(dataHome, project)
  if (pointer?.related !== settings.resolved.config["restore.related"]) return undefined
  if (pointer.session === event.session) return undefined
  // Claude Code does not tell us when our server is removed from its file.
  if (pointer.text.includes(toolName("get")) && !namesOurServer(settings.paths)) return undefined
  return { text: additionalContext(event, pointer.text), state }
}

/** Whether the folder's sessions hold more than the views, and therefore more than the pointer. */
function isBehind({ transcript }: HookEvent, dataHome: string): boolean {
  const folder = transcript === undefined ? "" : `${dirname(transcript)}/`
  for (const { path } of listPending(dataHome)) if (path.startsWith(folder)) return true
  return false
}
