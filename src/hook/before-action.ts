/**
 * `ctxbridge hook pre-tool-use`: before a command or an edit, while `recall.actions` is on, one line if it failed in this
 * project before. A program of its own beside the other hooks, as it is called at each use of a tool: nearly always there
 * is nothing to say, which takes one small file. Neither the archive nor the database is touched.
 *
 * As with every hook: exit 0, nothing on stderr, valid output or none.
 */
import { tryTo } from "../base/files.ts"
import { compileLate, endNow } from "../base/own-program.ts"
import { answerClaude } from "../base/write-output.ts"
import { decodeEvent } from "../claude/hooks.ts"
import { loadSettings, type Settings } from "../config/load.ts"
import type { HookEvent } from "../record/hook-event.ts"
import { namesOfEdit, namesOfRun } from "../record/script-essence.ts"
import { folderOf, projectOf } from "../views/project.ts"
import { reminderOf } from "../views/reminders.ts"
import { changeState, readState, type SessionState } from "./state.ts"
import { readDocument } from "./stdin.ts"

/** Share of the deadline for waiting for Claude Code's document. */
const STDIN_SHARE = 0.7

export async function runBeforeAction(): Promise<void> {
  process.on("uncaughtException", endNow)
  process.on("unhandledRejection", endNow)
  process.umask(0o077)
  compileLate()
  answerClaude(await answer())
  endNow()
}

async function answer(): Promise<string> {
  const settings = loadSettings()
  const { config } = settings.resolved
  if (!config["capture.enabled"] || !config["recall.actions"]) return ""
  try {
    const document = readDocument(config["hook.deadline"] * STDIN_SHARE)
    const event = await wanted(decodeEvent("pre-tool-use", document), settings)
    const { tool_input: input } = (document ?? {}) as { readonly tool_input?: unknown }
    const additionalContext = event && (await reminded(event, input, settings.paths.dataHome))
    if (additionalContext === undefined) return ""
    return JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse", additionalContext } })
  } catch (error) {
    const { logError } = await import("../base/log.ts")
    tryTo(() => logError(settings.paths.stateHome, { event: "pre-tool-use", error }))
    return ""
  }
}

/** Few people exclude folders. */
async function wanted(event: HookEvent | undefined, { paths }: Settings): Promise<HookEvent | undefined> {
  if (event === undefined || paths.exclude.length === 0) return event
  return (await import("../views/excluded.ts")).wantedOf(event, paths)
}

/** The latest actions of a session of which the model was reminded, and is not again. */
const MOST = 200

/** @param input of a tool that runs a command, or changes a file */
async function reminded(
  { cwd, session, transcript }: HookEvent,
  input: unknown,
  dataHome: string,
): Promise<string | undefined> {
  if (cwd === undefined) return undefined
  const project = projectOf(cwd)
  const found = reminderOf(dataHome, project, () => namesOf(input, [folderOf(project), cwd]))
  if (found === undefined) return undefined
  const before = readState(dataHome, session)
  const said = before.reminded ?? []
  if (said.includes(found.key) || isInSight(found, session, before)) return undefined
  // Of a session that was forgotten, no state may come back.
  const { forgottenOf } = await import("../vault/tombstones.ts")
  if (forgottenOf(dataHome, session, transcript ?? "")?.whole === true) return undefined
  // What cannot be remembered would be said at each call.
  return tryTo(() => {
    changeState(dataHome, session, before, { ...before, reminded: [...said, found.key].slice(-MOST) })
    return found.text
  })
}

function namesOf(input: unknown, folders: readonly string[]): readonly string[] {
  const { command, file_path, notebook_path, content } = (input ?? {}) as Record<string, unknown>
  // Who writes the whole file looks for no text in it.
  const path = typeof content === "string" ? undefined : (file_path ?? notebook_path)
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
