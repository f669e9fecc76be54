/**
 * One hook call from start to end: fill the vault, remember what later events need, reply.
 *
 * Only events that give the model something open the database. The others leave a marker for whoever next reads the
 * views.
 */

import { captureTranscript, type Taken } from "../archive/capture-transcript.ts"
import { projectOf } from "../archive/project.ts"
import { additionalContext, isSubagents } from "../claude/hooks.ts"
import type { PathsAndPolicy, Settings } from "../config/load.ts"
import { sweepDue } from "../job/due-work.ts"
import { askForRebuild, spawnJob } from "../job/spawn.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { codeOf, isDamage } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { logError } from "../util/log.ts"
import { dirname } from "../util/path.ts"
import { knownFile } from "../vault/layout.ts"
import { mayBeSpooled } from "../vault/spool-folders.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import type { AskedForEarlier } from "./asks-for-earlier.ts"
import { rememberClear } from "./cleared-sessions.ts"
import { preparedReply } from "./prepared-reply.ts"
import { rememberEvent } from "./remember-event.ts"
import type { Reply, ReplyRequest } from "./reply.ts"
import {
  answeredAt,
  changeState,
  claimStart,
  compactionUnanswered,
  readState,
  type SessionState,
  withChanges,
  writeState,
} from "./state.ts"
import { newCompactions, withBoundaryDue, withCompactions } from "./unanswered-compactions.ts"
import { type Watched, watchContext } from "./watch-context.ts"

/** Share of the deadline for filling the vault. The rest is for views and reply. */
const VAULT_SHARE = 0.4
/** A job is started to index this many bytes that the views lack. */
const INDEX_AT = 1 << 20

/** ms after our plugin has answered a compaction within which the host starts again. Hooks may be called twice for it. */
const PLUGIN_LASTS = 30_000

/**
 * Deadlines after which a reply is not begun if the next prompt makes up for it: many hooks at once, and no core for this
 * one. The job indexes for all.
 */
const GIVES_WAY = 2

/** @param deadline ms of performance.now(), counted from the start of the process */
export async function handle(called: HookEvent, settings: Settings, deadline: number): Promise<string> {
  const { dataHome, stateHome, exclude } = settings.paths
  const event =
    exclude.length === 0 ? called : (await import("./wanted-event.ts")).wanted(called, settings.paths)
  if (event === undefined) return ""
  const now = Date.now()
  const start = performance.now()
  const failed = (error: unknown): void =>
    logError(stateHome, { event: event.name, session: event.session, error })
  const until = start + (deadline - start) * VAULT_SHARE
  const { taken, spooled, known } = await takeAll(event, settings.paths, now, until, failed)
  // The user does not want this session here: keep no prompt and no marker, and give nothing back.
  const found = ownOf(event, taken)
  if (found?.captured.state === "forgotten") return ""
  // Nobody could go on with it.
  if (event.isStrange) return ""
  // Without a copy (another process holds its lock, or there is no transcript), nobody can tell how far it has come.
  const own = found?.captured.id === undefined ? undefined : found
  const left = await takeBeside(event, settings.paths, now, until).catch(failed)
  // A subagent's events change neither what the session is given back nor what it is waiting for.
  if (isSubagents(event)) return ""
  const isStart = event.source === "startup"
  const isFirst = !isStart || claimStart(dataHome, event.session, now)
  const kept = readState(dataHome, event.session)
  const before = (await newerState(event, settings.paths, spooled)) ?? kept
  const isAsked = event.trigger === "manual" && !before.refused
  const refused = isAsked ? await refusalOf(event, settings, found, spooled).catch(failed) : undefined
  // Then no compaction follows that would have to be remembered.
  let state = refused
    ? { ...before, refused: true }
    : rememberEvent(before, event, now, taken[0]?.captured.size ?? 0, settings.paths.secrets)
  try {
    state = withCompactions(event, before, state, own, now)
  } catch (error) {
    failed(error)
  }
  let due = false
  try {
    if (known !== undefined)
      ({ state, due } = (await knowing()).knowing(settings.paths, event.session, known, before, state))
  } catch (error) {
    failed(error)
  }
  let watched: Watched | undefined
  try {
    const call = { event, before, state, own, settings, now }
    watched = watchContext(call)
    if (watched?.advice !== undefined) watched = (await import("./watch-in-full.ts")).watchInFull(call)
  } catch (error) {
    failed(error)
  }
  if (watched !== undefined) state = { ...state, context: watched.context }
  const delivery = await followDelivery(event, state, settings, taken, now).catch(failed)
  if (delivery?.state !== undefined) state = delivery.state
  let text = refused ?? ""
  let lost = false
  const isByPlugin = event.source === "compact" && now - (state.compactedByPlugin ?? 0) < PLUGIN_LASTS
  if (isByPlugin) state = answered(event, before, { ...state, restoreTime: answeredAt(state, now) }, own)
  const earlier = delivery?.lost ? undefined : await askedForEarlier(event, before, state, settings)
  if (
    isFirst &&
    text === "" &&
    !isByPlugin &&
    (earlier !== undefined || needsReply(event, state, settings, delivery?.lost))
  ) {
    const answer = await replyTo(
      { event, settings, state, before, taken, own, now, deadline, earlier },
      failed,
    )
    const isAnswered = event.source === "compact" && answer.state.restoreTime !== state.restoreTime
    text = answer.text
    state = isAnswered ? answered(event, before, answer.state, own) : answer.state
    lost = answer.lost === true
    if (answer.late) due = true
  }
  if (text === "" && watched?.advice !== undefined) {
    const { zone, warning, notice } = watched.advice
    text = additionalContext(event, warning, notice)
    state = { ...state, context: { ...watched.context, told: zone } }
  }
  try {
    if (lost) askForRebuild(dataHome)
    const ended = startJob(event, taken, state, settings, now, due || left === true)
    if (ended !== undefined) state = { ...state, jobAt: ended }
  } catch (error) {
    failed(error)
  }
  try {
    if (state !== before && !wasForgotten(event, dataHome)) {
      await keepState(event, settings.paths, before === kept ? before : undefined, state)
      if (state.context !== undefined) watched?.publish?.(state.context)
    }
    if (event.name === "session-end" && event.reason === "clear" && event.cwd !== undefined) {
      rememberClear(dataHome, projectOf(event.cwd), event.session, now)
    }
  } catch (error) {
    failed(error)
    // Nobody would know that it was refused once.
    if (refused) text = ""
  }
  return text
}

/**
 * Takes the new bytes of the event's transcripts into the vault, or into the spool if that fails.
 *
 * @param until ms of performance.now() at which to stop
 * @returns `known`: bytes of the file of what is known of the session before, if there is one now
 */
async function takeAll(
  event: HookEvent,
  paths: PathsAndPolicy,
  now: number,
  until: number,
  failed: (error: unknown) => void,
): Promise<{ taken: Taken[]; spooled: boolean; known: number | undefined }> {
  const options = { now, deadline: until, hurried: true, lastLine: "whole", parent: event.session } as const
  const taken: Taken[] = []
  let spooled = false
  const file = knownFile(paths.dataHome, event.session)
  const known = sizeOf(file)
  let knows = known > 0
  for (const path of transcriptsIn(event)) {
    try {
      let one = captureTranscript(paths, path, { ...options, known: knows ? (await knowing()).known : "ask" })
      if (one.captured.state === "recognised") {
        knows = true
        one = (await knowing()).takeOn(paths, path, options, one)
      }
      taken.push(one)
      if (one.unmarked) (await spool()).spoolMarker(paths, one)
    } catch (error) {
      failed(error)
      try {
        taken.push((await spool()).takeToSpool(paths, path, options, error))
        spooled = true
      } catch (second) {
        failed(second)
      }
    }
  }
  // Another hook may have recognised something meanwhile.
  return { taken, spooled, known: sizeOf(file) > 0 ? known : undefined }
}

/** What the host keeps beside the transcript: nothing, in most sessions. Returns whether something is left. */
const takeBeside = async ({ transcript }: HookEvent, paths: PathsAndPolicy, now: number, until: number) =>
  transcript !== undefined &&
  statsOf(transcript.slice(0, -6)) !== undefined &&
  (await import("../archive/files-beside.ts")).takeNewBeside(paths, transcript, now, until)

const sizeOf = (file: string): number => statsOf(file)?.size ?? 0

/** The compaction just answered is in the transcript, or soon will be. */
function answered(
  event: HookEvent,
  before: SessionState,
  state: SessionState,
  own: Taken | undefined,
): SessionState {
  const isSeen = own !== undefined && newCompactions(event, before, own).length > 0
  return { ...withBoundaryDue(state, isSeen), recallDue: true }
}

async function replyTo(request: ReplyRequest, failed: (error: unknown) => void): Promise<Reply> {
  const nothing = { text: "", state: request.state }
  let lost = false
  try {
    const prepared = preparedReply(request)
    if (prepared !== undefined) return prepared
    if (performance.now() > request.deadline * GIVES_WAY) {
      const late = (await import("./give-way.ts")).gaveWay(request)
      if (late) return late
    }
    return await (await import("./reply.ts")).reply(request)
  } catch (error) {
    failed(error)
    if (isDamage(error)) return { ...nothing, lost: true }
    lost = await needsNewViews(request, error)
  }
  try {
    return { ...(await import("./read-only-reply.ts")).readOnlyReply(request), lost }
  } catch (error) {
    failed(error)
    return { ...nothing, lost: lost || isDamage(error) }
  }
}

/** If tables are missing, the rest of the views may still answer. */
async function needsNewViews({ settings }: ReplyRequest, error: unknown): Promise<boolean> {
  if (codeOf(error) !== "SQLITE_ERROR") return false
  return (await import("../archive/schema-shape.ts")).isUnusable(settings.paths.dataHome, error)
}

const spool = () => import("../archive/spool.ts")
const knowing = () => import("./known-secrets.ts")

/** The session's state from the spool, while it cannot be written to its usual place. */
async function newerState(
  event: HookEvent,
  paths: PathsAndPolicy,
  spooled: boolean,
): Promise<SessionState | undefined> {
  const asks = event.name === "session-start" || event.name === "pre-compact"
  if (!spooled && !(asks && mayBeSpooled(paths))) return undefined
  return (await spool()).newerState(paths, event.session) as SessionState | undefined
}

/** @param before what `state` was derived from, if it was read from its usual place */
async function keepState(
  { session }: HookEvent,
  paths: PathsAndPolicy,
  before: SessionState | undefined,
  state: SessionState,
): Promise<void> {
  const { dataHome } = paths
  try {
    if (before === undefined) writeState(dataHome, session, state)
    else changeState(dataHome, session, before, state)
  } catch {
    const latest = before === undefined ? state : withChanges(before, state, readState(dataHome, session))
    ;(await spool()).spoolState(paths, session, JSON.stringify(latest))
  }
}

/** Whether the session was forgotten while we worked; `forget` has then deleted its state, and it must stay deleted. */
function wasForgotten({ session, transcript = "" }: HookEvent, dataHome: string): boolean {
  return forgottenOf(dataHome, session, transcript)?.whole === true
}

// Loops instead of array methods: the engine compiles each method on its first call, which takes 0.07 ms.

function transcriptsIn({ transcript, agentTranscript }: HookEvent): string[] {
  const paths: string[] = []
  if (transcript !== undefined) paths.push(transcript)
  if (agentTranscript !== undefined) paths.push(agentTranscript)
  return paths
}

/** What was taken of the session's own transcript. */
function ownOf({ transcript }: HookEvent, taken: readonly Taken[]): Taken | undefined {
  for (const one of taken) if (one.path === transcript) return one
  return undefined
}

/**
 * Checks whether the last restore has reached the conversation. The host writes late, so a prompt may come too early to
 * tell; then the end of its turn, or the next prompt, decides.
 *
 * If our own note of the restore is gone (it could not be written), the transcript may still show it.
 *
 * @returns `lost` at the prompt that must give it again
 */
async function followDelivery(
  event: HookEvent,
  state: SessionState,
  { resolved }: Settings,
  taken: readonly Taken[],
  now: number,
): Promise<{ state?: SessionState; lost?: boolean }> {
  const { delivery, ...rest } = state
  const isPrompt = event.name === "user-prompt-submit"
  if ((!isPrompt && event.name !== "stop") || !resolved.config["restore.enabled"]) return {}
  const isMissed = isPrompt && compactionUnanswered(state)
  const given = isMissed ? { at: state.compactAt ?? 0, time: state.compactTime ?? 0 } : delivery
  const own = ownOf(event, taken)
  if (given === undefined || own === undefined) return {}
  const outcome = (await import("./delivery-outcome.ts")).outcomeOf(given, own)
  if (isMissed) return outcome === "arrived" ? { state: { ...rest, restoreTime: answeredAt(rest, now) } } : {}
  if (outcome === "arrived" || outcome === "unknown") return { state: rest }
  return { lost: isPrompt && outcome === "lost" }
}

/** What the first human prompt after a compaction asks for of what came before; undefined for every other. */
async function askedForEarlier(
  { prompt }: HookEvent,
  before: SessionState,
  state: SessionState,
  { resolved }: Settings,
): Promise<AskedForEarlier | undefined> {
  if (!before.recallDue || state.recallDue || prompt === undefined) return undefined
  if (!resolved.config["restore.enabled"]) return undefined
  return (await import("./asks-for-earlier.ts")).asksForEarlier(prompt)
}

/** What a compaction is refused with (`compaction.block`); undefined: it is not. */
async function refusalOf(
  event: HookEvent,
  { resolved }: Settings,
  own: Taken | undefined,
  isSpooled: boolean,
): Promise<string | undefined> {
  if (resolved.config["compaction.block"] === "off") return undefined
  return (await import("./refuse-compaction.ts")).refusal(event, own, isSpooled)
}

/** @param lost whether the last restore has not reached the conversation */
function needsReply(event: HookEvent, state: SessionState, settings: Settings, lost = false): boolean {
  const { config } = settings.resolved
  if (event.name === "pre-compact") return config["instructions.budget"] > 0
  if (!config["restore.enabled"]) return false
  // Only hosts that forget hook context need it again, and only after a compaction.
  if (event.source === "resume") return state.restoreTime !== undefined
  if (event.name === "session-start") return event.source !== "fork"
  return event.name === "user-prompt-submit" && (lost || compactionUnanswered(state))
}

/**
 * Starts the background job when there is more to do than a hook has time for, or when the host is still writing.
 *
 * @param due whether what was archived earlier must be searched for what was recognised since
 * @returns how many bytes of the transcript the job will find, if it was started to index them
 */
function startJob(
  event: HookEvent,
  taken: readonly Taken[],
  state: SessionState,
  settings: Settings,
  now: number,
  due: boolean,
): number | undefined {
  const transcripts = transcriptsIn(event)
  const folder = event.transcript === undefined ? undefined : dirname(event.transcript)
  if (event.name === "session-end" && folder !== undefined) {
    spawnJob(settings.paths.dataHome, { transcripts, sweep: [folder], settle: true })
    return undefined
  }
  let behind = due
  for (const { captured } of taken) behind ||= captured.state === "behind" || captured.state === "busy"
  const archived = taken[0]?.captured.archived ?? 0
  const large = archived - (state.jobAt ?? 0) >= INDEX_AT
  const begins = event.name === "session-start"
  const sweep = begins && folder !== undefined && sweepDue(folder, settings.paths.stateHome, now)
  const drain = begins && mayBeSpooled(settings.paths)
  if (!behind && !large && !sweep && !drain) return undefined
  const where = sweep && event.cwd !== undefined ? { folder: event.cwd } : {}
  spawnJob(settings.paths.dataHome, { transcripts, sweep: sweep ? [folder] : [], settle: false, ...where })
  return archived
}
