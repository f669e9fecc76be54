/**
 * One hook call, straight down: the vault, then what is to be remembered, then the reply.
 *
 * Only events that give something to the model open the database; the others leave a marker for whoever reads the
 * views next.
 */
import { dirname } from "node:path"
import { projectOf } from "../archive/project.ts"
import { type Taken, take } from "../archive/take.ts"
import type { Settings } from "../config/load.ts"
import { askForRebuild, spawnJob } from "../job/spawn.ts"
import { sweepDue } from "../job/sweep.ts"
import { isDamage } from "../util/errors.ts"
import { logError } from "../util/log.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { type HookEvent, isHumanPrompt } from "./event.ts"
import { preparedReply } from "./start.ts"
import { claimStart, readState, rememberClear, type SessionState, writeState } from "./state.ts"

/** Share of the deadline until which to fill the vault. The rest is for views and reply. */
const VAULT_SHARE = 0.4
/** A prompt longer than this is a pasted file; its beginning is enough to know it by. */
const PROMPT_REMEMBERED = 20_000
/** A summary belongs to a compaction announced within this time, in ms. */
const COMPACTION_LASTS = 10 * 60_000
/** Bytes not yet in the views from which on a job is started to index them. */
const INDEX_AT = 1 << 20

/** @param deadline ms of performance.now(), counted from the start of the process */
export async function handle(event: HookEvent, settings: Settings, deadline: number): Promise<string> {
  const { dataHome, stateHome } = settings.paths
  const now = Date.now()
  const start = performance.now()
  const failed = (error: unknown): void =>
    logError(stateHome, { event: event.name, session: event.session, error })
  const taken: Taken[] = []
  for (const path of transcriptsIn(event)) {
    try {
      const until = start + (deadline - start) * VAULT_SHARE
      taken.push(
        take(settings.paths, path, { now, deadline: until, lastLine: "whole", parent: event.session }),
      )
    } catch (error) {
      failed(error)
    }
  }
  // The user does not want to have it here: no prompt, no mark, and nothing given back.
  if (taken.some(({ path, captured }) => path === event.transcript && captured.state === "forgotten"))
    return ""
  const isStart = event.name === "session-start" && event.source === "startup"
  const isFirst = !isStart || claimStart(dataHome, event.session, now)
  const before = readState(dataHome, event.session)
  let state = remember(before, event, now, taken[0]?.captured.size ?? 0)
  let text = ""
  let lost = false
  if (isFirst && needsReply(event, before, settings)) {
    try {
      const request = { event, settings, state, taken, now, deadline }
      const answer = preparedReply(request) ?? (await (await import("./reply.ts")).reply(request))
      text = answer.text
      state = answer.state
      lost = answer.lost === true
    } catch (error) {
      lost = isDamage(error)
      failed(error)
    }
  }
  try {
    if (lost) askForRebuild(dataHome)
    const ended = startJob(event, taken, state, settings, now)
    if (ended !== undefined) state = { ...state, jobAt: ended }
    if (state !== before && !wasForgotten(event, dataHome)) writeState(dataHome, event.session, state)
    if (event.name === "session-end" && event.reason === "clear" && event.cwd !== undefined) {
      rememberClear(dataHome, projectOf(event.cwd), { session: event.session, time: now })
    }
  } catch (error) {
    failed(error)
  }
  return text
}

/** While we worked: whoever forgets has deleted the session's state by now. */
function wasForgotten({ session, transcript = "" }: HookEvent, dataHome: string): boolean {
  return forgottenOf(dataHome, session, transcript)?.whole === true
}

function transcriptsIn(event: HookEvent): string[] {
  return [event.transcript, event.agentTranscript].filter((path): path is string => path !== undefined)
}

/**
 * What this event adds to what is known of the session; the same object when it adds nothing.
 *
 * @param size bytes of the transcript on disk
 */
function remember(state: SessionState, event: HookEvent, now: number, size: number): SessionState {
  switch (event.name) {
    case "user-prompt-submit":
      // Automatic compaction swallows the prompt just typed, so it is kept until the turn has ended.
      if (event.prompt === undefined || !isHumanPrompt(event)) return state
      return { ...state, prompt: event.prompt.slice(0, PROMPT_REMEMBERED), promptAt: size, promptOpen: true }
    case "stop":
      return state.promptOpen ? { ...state, promptOpen: false } : state
    case "pre-compact": {
      const { summary: _old, ...rest } = state
      return { ...rest, compactTime: now, compactAt: size }
    }
    case "subagent-stop":
      // No agent type: the compaction itself, from 2.1 on. Its summary is not in the transcript yet.
      if (event.agentType !== "" || event.lastMessage === undefined) return state
      if (now - (state.compactTime ?? 0) > COMPACTION_LASTS) return state
      return { ...state, summary: event.lastMessage }
    case "session-end":
      return state.promptOpen && event.reason === "clear" ? { ...state, promptOpen: false } : state
    case "session-start":
      return state
  }
}

function needsReply(event: HookEvent, state: SessionState, settings: Settings): boolean {
  const { config } = settings.resolved
  if (event.name === "pre-compact") return config["instructions.budget"] > 0
  if (!config["restore.enabled"]) return false
  // Only a host that forgets hook context needs it again, and only after a compaction.
  if (event.source === "resume") return state.restoreTime !== undefined
  if (event.name === "session-start") return event.source !== "fork"
  return event.name === "user-prompt-submit" && compactionUnanswered(state)
}

/** A compaction was announced, and the host has not started the session anew since. It may not have happened. */
function compactionUnanswered({ compactTime, restoreTime = 0 }: SessionState): boolean {
  return compactTime !== undefined && restoreTime < compactTime
}

/**
 * Starts the background job when there is more to do than a hook has time for, or when the host is still writing.
 *
 * @returns how much of the transcript the job will find, when it was started to index it
 */
function startJob(
  event: HookEvent,
  taken: readonly Taken[],
  state: SessionState,
  settings: Settings,
  now: number,
): number | undefined {
  const transcripts = taken.map(({ path }) => path)
  const folder = event.transcript === undefined ? undefined : dirname(event.transcript)
  if (event.name === "session-end" && folder !== undefined) {
    spawnJob(settings.paths.dataHome, { transcripts, sweep: [folder], settle: true })
    return undefined
  }
  const behind = taken.some(({ captured }) => captured.state === "behind" || captured.state === "busy")
  const archived = taken[0]?.captured.archived ?? 0
  const large = archived - (state.jobAt ?? 0) >= INDEX_AT
  const sweep =
    event.name === "session-start" && folder !== undefined && sweepDue(folder, settings.paths.stateHome, now)
  if (!behind && !large && !sweep) return undefined
  spawnJob(settings.paths.dataHome, { transcripts, sweep: sweep ? [folder] : [], settle: false })
  return archived
}
