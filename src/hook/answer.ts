/** Whether an event is answered, by whom, and what a new session is told without the views. */

import { tryTo, writePrivate } from "../base/files.ts"
import { existsSync, linkSync, unlinkSync } from "../base/fs.ts"
import { toolName } from "../claude/our-server.ts"
import { namesOurServer } from "../claude/settings/state-file.ts"
import { answersLate, type HookEvent } from "../record/hook-event.ts"
import { listPending } from "../vault/pending.ts"
import { readPointer } from "../views/pointers.ts"
import { projectOf } from "../views/project.ts"
import { changingSessions, sessionFile } from "../views/session-files.ts"
import { type Added, type HookCall, type HookStep, runSteps, seldom } from "./call.ts"
import {
  isCleared,
  isUnanswered,
  readState,
  SAME_EVENT,
  type SessionState,
  SILENT_CLEAR_LASTS,
  writeState,
} from "./state.ts"

/** Of the hooks of several settings files, the first answers. */
export function claim({ event, settings, now }: HookCall): Added | undefined {
  if (event.source !== "startup") return undefined
  return { isSecond: !claimStart(settings.paths.dataHome, event.session, now) }
}

/** Whether this call is the first for the session's start: the hooks of several settings files are called for it. */
function claimStart(dataHome: string, session: string, now: number): boolean {
  const file = sessionFile(dataHome, session)
  const own = `${file}.${process.pid}`
  const isNew = tryTo(() => {
    // Linked rather than created, so that nobody ever reads half a file.
    writePrivate(own, JSON.stringify({ startTime: now } satisfies SessionState))
    linkSync(own, file)
    return true
  })
  tryTo(() => unlinkSync(own))
  // If nothing can be written, answering twice is better than not at all.
  if (isNew || !existsSync(file)) return true
  return changingSessions(dataHome, () => {
    const state = readState(dataHome, session)
    if (Math.abs(now - (state.startTime ?? 0)) < SAME_EVENT) return false
    writeState(dataHome, session, { ...state, startTime: now })
    return true
  })
}

/**
 * ms after our plugin has answered a compaction within which Claude Code starts again. Hooks may be called twice for
 * it.
 */
const PLUGIN_LASTS = 30_000

export const isByPlugin = ({ event, state, now }: HookCall): boolean =>
  event.source === "compact" && now - (state.compactedByPlugin ?? 0) < PLUGIN_LASTS

/** Whether it is the first human prompt after a compaction, which may ask for what came before. */
export const mayAsk = ({ event, before, state, isLost, settings }: HookCall): boolean =>
  before.recallDue === true &&
  !state.recallDue &&
  event.prompt !== undefined &&
  isLost !== true &&
  settings.resolved.config["restore.enabled"]

/** Whether something is to be replied. */
export function isOwed(call: HookCall): boolean {
  const { event, form, state, settings, isSecond, isReplied, earlier, isLost } = call
  const { config } = settings.resolved
  if (isSecond || isReplied) return false
  if (earlier !== undefined) return true
  // Others take no instructions, but what is indexed now need not be when the restore is due.
  if (event.name === "pre-compact") return config["instructions.budget"] > 0 || form.other !== undefined
  if (!config["restore.enabled"]) return false
  // Only versions of Claude Code that forget hook context need it again, and only after a compaction.
  if (event.source === "resume") return state.restoreTime !== undefined && form.other === undefined
  if (event.name === "session-start") return event.source !== "fork"
  return answersLate(event) && (isLost === true || isUnanswered(state))
}

/** The first that settles it. */
const REPLY: readonly HookStep[] = [
  { name: "project", due: ({ event }) => event.cwd !== undefined, run: inProject },
  { name: "pointer", at: ["session-start"], run: prepared },
  { name: "late", due: isLate, later: seldom },
  {
    name: "reply",
    due: isUnsettled,
    later: async () => ({ reply: (await import("./reply.ts")).replied }),
    // Where the views could not be written, or not be read whole.
    instead: [{ name: "rest", later: async () => ({ rest: (await import("./given.ts")).replyFromRest }) }],
  },
]

export async function reply(call: HookCall): Promise<undefined> {
  await runSteps(REPLY, call)
}

function isUnsettled({ isReplied }: HookCall): boolean {
  return !isReplied
}

/**
 * Deadlines after which a reply is not begun if the next prompt makes up for it: many hooks at once, and no core for this
 * one. The job indexes for all.
 */
const GIVES_WAY = 2

function isLate({ isReplied, deadline }: HookCall): boolean {
  return !isReplied && performance.now() > deadline * GIVES_WAY
}

function inProject({ event }: HookCall): Added {
  return { project: projectOf(event.cwd!) }
}

/** Gives a new session the pointer that was rendered beforehand, unless the views must be consulted. */
function prepared({ event, form, settings, now, project }: HookCall): Added | undefined {
  if (event.source !== "startup" || project === undefined) return undefined
  // It is written for Claude Code.
  if (form.other !== undefined)
    return settings.resolved.config["restore.startup"] ? undefined : { isReplied: true }
  const { dataHome } = settings.paths
  // Just after /clear, some versions of Claude Code report a continued session as a new one.
  if (isCleared(dataHome, project, now - SILENT_CLEAR_LASTS)) return undefined
  if (!settings.resolved.config["restore.startup"]) return { isReplied: true }
  // Checked before the pointer is read: indexing in between removes the pointer.
  if (isBehind(event, dataHome)) return undefined
  const pointer = readPointer(dataHome, project)
  if (pointer?.related !== settings.resolved.config["restore.related"]) return undefined
  if (pointer.session === event.session) return undefined
  // Claude Code does not tell us when our server is removed from its file.
  if (pointer.text.includes(toolName("get")) && !namesOurServer(settings.paths)) return undefined
  return { isReplied: true, text: pointer.text }
}

/** Whether the folder's sessions hold more than the views, and therefore more than the pointer. */
function isBehind({ folder }: HookEvent, dataHome: string): boolean {
  const start = folder === undefined ? "" : `${folder}/`
  for (const { path } of listPending(dataHome)) if (path.startsWith(start)) return true
  return false
}
