/**
 * One hook call from start to end, as a table of steps: fill the vault, remember what later events need, reply
 * (docs/architecture/hook.md).
 *
 * Only events that give the model something open the database. The others leave a marker for whoever next reads the
 * views.
 */

import { isMade } from "../agents/layouts.ts"
import { statsOf, tryTo, writePrivate } from "../base/files.ts"
import { existsSync, linkSync, unlinkSync } from "../base/fs.ts"
import { toolName } from "../claude/our-server.ts"
import { namesOurServer } from "../claude/settings/state-file.ts"
import type { Settings } from "../config/load.ts"
import { hasBudget } from "../config/options.ts"
import { sweepDue } from "../job/due-work.ts"
import { answersLate, type HookEvent, type HookForm, type HookReply } from "../record/hook-event.ts"
import { filterText, type SecretSettings } from "../secrets/filter.ts"
import { captureTranscript } from "../vault/capture.ts"
import { knownFile } from "../vault/layout.ts"
import { listPending } from "../vault/pending.ts"
import { mayBeSpooled } from "../vault/spool-folders.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { readPointer } from "../views/pointers.ts"
import { projectOf } from "../views/project.ts"
import { changingSessions, sessionFile } from "../views/session-files.ts"
import { type Added, callFor, type HookCall, type HookStep, runSteps, seldom } from "./call.ts"
import { mayBeLost, noticeCompactions } from "./notice.ts"
import {
  announcedAt,
  changeState,
  isCleared,
  isUnanswered,
  readState,
  SAME_EVENT,
  type SessionState,
  SILENT_CLEAR_LASTS,
  writeState,
} from "./state.ts"
import { watchWindow } from "./watch-window.ts"

const START = ["session-start"] as const
const COMPACT = ["pre-compact"] as const
const PROMPT = ["user-prompt-submit"] as const
const TOOL = ["post-tool-use"] as const

/** In this order; each sees what those before it have found. */
export const STEPS: readonly HookStep[] = [
  { name: "look", at: TOOL, later: async () => (await import("./other-agents.ts")).AFTER_TOOL },

  // What must not be lost, before anything else.
  { name: "take", run: take },
  { name: "beside", due: hasBeside, run: takeBeside },
  // A subagent's events change neither what the session is given back nor what it is waiting for.
  { name: "subagent", run: ({ event }) => ({ isOver: event.isSubagents }) },

  // What is known of the session, and what this event adds.
  { name: "claim", at: START, run: claim },
  { name: "recollect", run: recollect },
  { name: "spooled", due: maySpool, later: seldom },
  { name: "refuse", at: COMPACT, due: mayRefuse, later: seldom },
  { name: "remember", run: remember },
  { name: "notice", run: noticeCompactions },
  { name: "secrets", due: "known", later: async () => (await import("./known-secrets.ts")).SECRETS },
  { name: "window", due: ({ form }) => form.other === undefined, run: watchWindow },
  { name: "limits", due: "news", later: seldom },
  { name: "delivery", at: ["user-prompt-submit", "stop"], due: mayBeLost, later: seldom },

  // What is given back, if anything.
  { name: "plugin", at: START, due: isByPlugin, later: seldom },
  {
    name: "asking",
    at: PROMPT,
    due: mayAsk,
    later: async () => (await import("./asks-for-earlier.ts")).ASKING,
  },
  { name: "reply", due: isOwed, run: reply },
  { name: "advise", due: "news", later: seldom },

  // What is left for others.
  { name: "rebuild", due: "areViewsLost", later: seldom },
  { name: "job", run: startJob },
  { name: "keep", due: hasChanged, run: keep, instead: [{ name: "allow", due: "isRefused", later: seldom }] },
  { name: "clear", at: ["session-end"], later: seldom },
]

/**
 * @param deadline ms of performance.now(), counted from the start of the process
 * @param form of whoever calls; default: Claude Code's
 * @returns what the model and the user are told, if anything
 */
export async function handle(
  called: HookEvent,
  settings: Settings,
  deadline: number,
  form?: HookForm,
): Promise<HookReply> {
  const { paths } = settings
  const event =
    paths.exclude.length === 0 ? called : (await import("../views/excluded.ts")).wantedOf(called, paths)
  if (event === undefined) return { text: "", note: "" }
  const call = callFor(event, settings, Date.now(), deadline, form)
  await runSteps(STEPS, call)
  return call
}

/* The new bytes of the event's transcripts, and of what lies beside them, go into the vault. */

/** For each transcript: into the vault, or into the spool if that fails. */
const EACH: readonly HookStep[] = [
  { name: "vault", run: toVault, instead: [{ name: "spool", later: seldom }] },
  { name: "mark", due: "unmarked", later: seldom },
]

async function take(call: HookCall): Promise<Added> {
  const { event } = call
  const known = knownBytes(call)
  for (const path of transcriptsIn(event)) await runSteps(EACH, call, { path, known })
  const [first] = call.taken
  const found = first?.path === event.transcript ? first : undefined
  return {
    found,
    own: found?.captured.id === undefined ? undefined : found,
    // Another hook may have recognised something meanwhile.
    known: knownBytes(call) > 0 ? known : undefined,
    // The user does not want this session here: no prompt and no marker is kept, and nothing is given back. Nobody could
    // go on with a strange one.
    isOver: found?.captured.state === "forgotten" || event.isStrange === true,
  }
}

/** Bytes of the file of what is known of the session. */
function knownBytes({ event, settings }: HookCall): number {
  return statsOf(knownFile(settings.paths.dataHome, event.session))?.size ?? 0
}

async function toVault(call: HookCall): Promise<Added> {
  const { settings, taking, taken, path, known } = call
  // A session that is no transcript.
  if (isMade(path!)) return (await import("./take-made.ts")).taken(call)
  // What the first transcript brought is known in the second.
  const isNew = known === 0 && (taken.length === 0 || knownBytes(call) === 0)
  const knows = isNew ? "ask" : (await knowing()).known
  const first = captureTranscript(settings.paths, path!, { ...taking, known: knows })
  const isWhole = first.captured.state !== "recognised"
  const one = isWhole ? first : (await knowing()).takeOn(settings.paths, path!, taking, first)
  return { taken: [...taken, one], unmarked: one.unmarked ? one : undefined }
}

const knowing = () => import("./known-secrets.ts")

// Loops instead of array methods: the engine compiles each method on its first call, which takes 0.07 ms.
function transcriptsIn({ transcript, agentTranscript }: HookEvent): string[] {
  const paths: string[] = []
  if (transcript !== undefined) paths.push(transcript)
  if (agentTranscript !== undefined) paths.push(agentTranscript)
  return paths
}

/** Whether Claude Code keeps anything beside the transcript: nothing, in most sessions. */
function hasBeside({ event }: HookCall): boolean {
  return event.transcript !== undefined && statsOf(event.transcript.slice(0, -6)) !== undefined
}

async function takeBeside({ event, settings, now, taking }: HookCall): Promise<Added> {
  const { takeNewBeside } = await import("../vault/files-beside.ts")
  return { isJobDue: takeNewBeside(settings.paths, event.transcript!, now, taking.deadline) }
}

/*
 * What events leave for later ones: the prompt, a compaction and its summary in the session's state, and work for the
 * job.
 */

/** What the hooks before have left of the session. */
function recollect({ event, settings }: HookCall): Added {
  const before = readState(settings.paths.dataHome, event.session)
  return { before, state: before }
}

function maySpool({ event, settings, isSpooled }: HookCall): boolean {
  return (
    isSpooled === true ||
    ((event.name === "session-start" || event.name === "pre-compact") && mayBeSpooled(settings.paths))
  )
}

function mayRefuse({ event, before, settings }: HookCall): boolean {
  return (
    event.trigger === "manual" && !before.refused && settings.resolved.config["compaction.block"] !== "off"
  )
}

/** Characters of a prompt that are kept. A longer one is a pasted file, and its beginning identifies it. */
const PROMPT_REMEMBERED = 20_000
/** Characters of a summary that are kept. Claude Code writes nowhere near as many. */
const SUMMARY_REMEMBERED = 150_000
/** Characters that are kept of the user's instructions for a compaction. */
const FOCUS_REMEMBERED = 2000
/** Characters after the kept ones in which a secret that begins in them may end. */
const LONGEST_SECRET = 1 << 16
/** ms after its announcement within which a summary belongs to a compaction. */
const COMPACTION_LASTS = 10 * 60_000

/** Adds what this event contributes to the session's state, which stays the same object if that is nothing. */
export function remember({ event, state, isRefused, taken, now, settings }: HookCall): Added | undefined {
  const { secrets } = settings.paths
  /** Of the transcript on disk. */
  const size = taken[0]?.captured.size ?? 0
  switch (event.name) {
    case "user-prompt-submit": {
      if (event.prompt === undefined || !event.isHuman) return undefined
      const { recallDue: _passed, ...rest } = state
      // Automatic compaction swallows the prompt just typed, so keep it until the turn has ended.
      const prompt = kept(event.prompt, PROMPT_REMEMBERED, secrets)
      return { state: { ...rest, prompt, promptAt: size, promptOpen: true } }
    }
    case "stop":
      return closed(state)
    case "pre-compact": {
      // Then no compaction follows that would have to be remembered.
      if (isRefused) return undefined
      const { summary: _old, focus: _former, printed: _before, ...others } = state
      const { unannounced: _noted, compactedByPlugin: _other, ...rest } = others
      const focus = kept(event.focus?.trim() ?? "", FOCUS_REMEMBERED, secrets)
      // Keep an earlier compaction that the next prompt still has to answer.
      const at = isUnanswered(state) ? Math.min(state.compactAt ?? size, size) : size
      const announced = { ...rest, compactTime: announcedAt(state, now), compactAt: at }
      return { state: focus === "" ? announced : { ...announced, focus } }
    }
    case "subagent-stop":
      // An empty agent type means the compaction itself (from 2.1). Its summary is not in the transcript yet.
      if (event.agentType !== "" || event.lastMessage === undefined) return undefined
      // Others have no type either; without an announcement, which may have been lost, only its form tells.
      if (now - (state.compactTime ?? 0) > COMPACTION_LASTS && !event.lastMessage.includes("<summary>"))
        return undefined
      return { state: { ...state, summary: kept(event.lastMessage, SUMMARY_REMEMBERED, secrets) } }
    case "session-end":
      return event.reason === "clear" ? closed(state) : undefined
    case "session-start":
      if (event.source !== "resume" && event.source !== "fork") return undefined
      return { state: { ...state, resumedAt: size } }
    default:
      return undefined
  }
}

/** With the prompt answered, or given up. */
const closed = (state: SessionState): Added | undefined =>
  state.promptOpen ? { state: { ...state, promptOpen: false } } : undefined

/** The beginning of a text without secrets. Only that part is searched, since a megabyte may take a second. */
function kept(text: string, most: number, secrets: SecretSettings): string {
  const beginning = text.slice(0, most + LONGEST_SECRET).toWellFormed()
  // An opening tag hides text even if merely mentioned, provided that a closing one follows anywhere.
  const isClosed = text.length > beginning.length && /<\/private>/i.test(text.slice(beginning.length))
  return filterText(isClosed ? `${beginning}</private>` : beginning, secrets).slice(0, most)
}

/** A job is started to index this many bytes that the views lack. */
const INDEX_AT = 1 << 20

/**
 * Starts the background job when there is more to do than a hook has time for, or when Claude Code is still writing.
 */
async function startJob(call: HookCall): Promise<Added | undefined> {
  const { event, taken, state, settings, now, isJobDue } = call
  const { paths } = settings
  const transcripts = transcriptsIn(event)
  const { folder } = event
  if (event.name === "session-end" && folder !== undefined) {
    ;(await spawning()).spawnJob(paths.dataHome, { transcripts, sweep: [folder], settle: true })
    return undefined
  }
  let behind = isJobDue === true
  for (const { captured } of taken) behind ||= captured.state === "behind" || captured.state === "busy"
  const archived = taken[0]?.captured.archived ?? 0
  const large = archived - (state.jobAt ?? 0) >= INDEX_AT
  const begins = event.name === "session-start"
  const sweep = begins && folder !== undefined && sweepDue(folder, paths.stateHome, now)
  const drain = begins && mayBeSpooled(paths)
  const spends = event.name === "stop" && (await isSumDue(settings))
  if (!behind && !large && !sweep && !drain && !spends) return undefined
  const where = sweep && event.cwd !== undefined ? { folder: event.cwd } : {}
  const request = { transcripts, sweep: sweep ? [folder] : [], settle: false, ...where }
  ;(await spawning()).spawnJob(paths.dataHome, request)
  return { state: { ...state, jobAt: archived } }
}

/** Whether the status line waits for what was spent. Nothing is loaded where no budget is set. */
async function isSumDue({ paths, resolved: { config } }: Settings): Promise<boolean> {
  if (!hasBudget(config)) return false
  const { areUsesOld } = await import("../restore/window/budget-use.ts")
  return areUsesOld(paths.dataHome, Date.now())
}

const spawning = () => import("../job/spawn.ts")

/** If the session was forgotten while we worked, `forget` has deleted its state, and it must stay deleted. */
function hasChanged({ event, before, state, settings }: HookCall): boolean {
  return (
    state !== before &&
    forgottenOf(settings.paths.dataHome, event.session, event.transcript ?? "")?.whole !== true
  )
}

/** Writes the state where the next hook looks for it. */
async function keep(call: HookCall): Promise<undefined> {
  const { event, before, isElsewhere, state, settings, publish } = call
  const { paths } = settings
  const base = isElsewhere ? undefined : before
  const isWritten = tryTo(() => {
    if (base === undefined) writeState(paths.dataHome, event.session, state)
    else changeState(paths.dataHome, event.session, base, state)
    return true
  })
  if (!isWritten) await (await seldom())["unwritten"]!(call)
  if (state.context !== undefined) publish?.(state.context)
}

/* Whether an event is answered, by whom, and what a new session is told without the views. */

/** Of the hooks of several settings files, the first answers. */
function claim({ event, settings, now }: HookCall): Added | undefined {
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

function isByPlugin({ event, state, now }: HookCall): boolean {
  return event.source === "compact" && now - (state.compactedByPlugin ?? 0) < PLUGIN_LASTS
}

/** Whether it is the first human prompt after a compaction, which may ask for what came before. */
function mayAsk({ event, before, state, isLost, settings }: HookCall): boolean {
  return (
    before.recallDue === true &&
    !state.recallDue &&
    event.prompt !== undefined &&
    isLost !== true &&
    settings.resolved.config["restore.enabled"]
  )
}

/** Whether something is to be replied. */
function isOwed(call: HookCall): boolean {
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
  {
    name: "project",
    due: ({ event }) => event.cwd !== undefined,
    run: ({ event }) => ({ project: projectOf(event.cwd!) }),
  },
  { name: "pointer", at: ["session-start"], run: prepared },
  { name: "late", due: isLate, later: seldom },
  {
    name: "reply",
    due: ({ isReplied }) => !isReplied,
    later: async () => ({ reply: (await import("./reply.ts")).replied }),
    // Where the views could not be written, or not be read whole.
    instead: [{ name: "rest", later: async () => ({ rest: (await import("./given.ts")).replyFromRest }) }],
  },
]

async function reply(call: HookCall): Promise<undefined> {
  await runSteps(REPLY, call)
}

/**
 * Deadlines after which a reply is not begun if the next prompt makes up for it: many hooks at once, and no core for this
 * one. The job indexes for all.
 */
const GIVES_WAY = 2

function isLate({ isReplied, deadline }: HookCall): boolean {
  return !isReplied && performance.now() > deadline * GIVES_WAY
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
