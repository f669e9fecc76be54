/**
 * Before a command or an edit, while `recall.actions` is on: one line if it failed in this project before. Nearly always
 * there is nothing to say, which takes one small file; neither the archive nor the database is touched.
 */
import { tryTo } from "../base/files.ts"
import { namesOfEdit, namesOfRun } from "../record/script-essence.ts"
import { folderOf, projectOf } from "../views/project.ts"
import { reminderOf } from "../views/reminders.ts"
import type { Added, HookCall, Later } from "./call.ts"
import { changeState, readState, type SessionState } from "./state.ts"

/** The latest actions of a session of which the model was reminded, and is not again. */
const MOST = 200

function remind({ event, settings }: HookCall): Added {
  const { action, cwd, session } = event
  const { dataHome } = settings.paths
  if (cwd === undefined || !settings.resolved.config["recall.actions"]) return { isOver: true }
  const project = projectOf(cwd)
  const found = reminderOf(dataHome, project, () => namesOf(action, [folderOf(project), cwd]))
  if (found === undefined) return { isOver: true }
  const before = readState(dataHome, session)
  const { reminded = [] } = before
  if (reminded.includes(found.key) || isInSight(found, session, before)) return { isOver: true }
  // What cannot be remembered would be said at each call.
  const isKept = tryTo(() => {
    changeState(dataHome, session, before, { ...before, reminded: [...reminded, found.key].slice(-MOST) })
    return true
  })
  return isKept ? { isOver: true, text: found.text } : { isOver: true }
}

/** @param input of a tool that runs a command, or changes a file */
function namesOf(input: unknown, folders: readonly string[]): readonly string[] {
  const { command, file_path, notebook_path } = (input ?? {}) as Record<string, unknown>
  const path = file_path ?? notebook_path
  const names =
    typeof command === "string"
      ? namesOfRun(command, folders)
      : typeof path === "string"
        ? namesOfEdit(path)
        : undefined
  return names === undefined ? [] : [names.whole, ...names.programs]
}

/**
 * Whether the failure may still be in the context. A session that was resumed or forked may go on with another's, so
 * nothing is said in it until it is compacted.
 */
function isInSight(
  { session: failedIn, time }: { readonly session: string; readonly time: number },
  session: string,
  { restoreTime, resumedAt }: SessionState,
): boolean {
  return (
    (failedIn === session || resumedAt !== undefined) && !(restoreTime !== undefined && time < restoreTime)
  )
}

export const BEFORE_ACTION: Later = { remind }
