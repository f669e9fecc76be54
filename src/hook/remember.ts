/** What events leave for later ones: the prompt, a compaction and its summary in the session's state, and work for the job. */

import { tryTo } from "../base/files.ts"
import type { Settings } from "../config/load.ts"
import { hasBudget } from "../config/options.ts"
import { sweepDue } from "../job/due-work.ts"
import { filterText, type SecretSettings } from "../secrets/filter.ts"
import { mayBeSpooled } from "../vault/spool-folders.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { type Added, type HookCall, seldom } from "./call.ts"
import { announcedAt, changeState, isUnanswered, readState, type SessionState, writeState } from "./state.ts"
import { transcriptsIn } from "./take.ts"

/** What the hooks before have left of the session. */
export function recollect({ event, settings }: HookCall): Added {
  const before = readState(settings.paths.dataHome, event.session)
  return { before, state: before }
}

export const maySpool = ({ event, settings, isSpooled }: HookCall): boolean =>
  isSpooled === true ||
  ((event.name === "session-start" || event.name === "pre-compact") && mayBeSpooled(settings.paths))

export const mayRefuse = ({ event, before, settings }: HookCall): boolean =>
  event.trigger === "manual" && !before.refused && settings.resolved.config["compaction.block"] !== "off"

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
export async function startJob(call: HookCall): Promise<Added | undefined> {
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
export const hasChanged = ({ event, before, state, settings }: HookCall): boolean =>
  state !== before &&
  forgottenOf(settings.paths.dataHome, event.session, event.transcript ?? "")?.whole !== true

/** Writes the state where the next hook looks for it. */
export async function keep(call: HookCall): Promise<undefined> {
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
