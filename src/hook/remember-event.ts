/** What a session's events leave for later ones: the prompt, a compaction and its summary. Pure. */
import { isHumanPrompt } from "../claude/hooks.ts"
import { filterText, type SecretSettings } from "../secrets/filter.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { announcedAt, compactionUnanswered, type SessionState } from "./state.ts"

/** Characters of a prompt that are kept. A longer one is a pasted file, and its beginning identifies it. */
const PROMPT_REMEMBERED = 20_000
/** Characters of a summary that are kept. No host writes nearly as many. */
const SUMMARY_REMEMBERED = 150_000
/** Characters that are kept of the user's instructions for a compaction. */
const FOCUS_REMEMBERED = 2000
/** Characters after the kept ones in which a secret that begins in them may end. */
const LONGEST_SECRET = 1 << 16
/** ms after its announcement within which a summary belongs to a compaction. */
const COMPACTION_LASTS = 10 * 60_000

/**
 * Adds what this event contributes to the session's state; returns the same object if that is nothing.
 *
 * @param now ms since the epoch
 * @param size bytes of the transcript on disk
 */
export function rememberEvent(
  state: SessionState,
  event: HookEvent,
  now: number,
  size: number,
  secrets: SecretSettings,
): SessionState {
  switch (event.name) {
    case "user-prompt-submit": {
      // Automatic compaction swallows the prompt just typed, so keep it until the turn has ended.
      if (event.prompt === undefined || !isHumanPrompt(event)) return state
      const { recallDue: _passed, ...kept } = state
      return {
        ...kept,
        prompt: remembered(event.prompt, PROMPT_REMEMBERED, secrets),
        promptAt: size,
        promptOpen: true,
      }
    }
    case "stop":
      return state.promptOpen ? { ...state, promptOpen: false } : state
    case "pre-compact": {
      const { summary: _old, focus: _former, unannounced: _noted, compactedByPlugin: _other, ...rest } = state
      const focus = remembered(event.focus?.trim() ?? "", FOCUS_REMEMBERED, secrets)
      // Keep an earlier compaction that the next prompt still has to answer.
      const at = compactionUnanswered(state) ? Math.min(state.compactAt ?? size, size) : size
      return {
        ...rest,
        ...(focus === "" ? {} : { focus }),
        compactTime: announcedAt(state, now),
        compactAt: at,
      }
    }
    case "subagent-stop":
      // An empty agent type means the compaction itself (from 2.1). Its summary is not in the transcript yet.
      if (event.agentType !== "" || event.lastMessage === undefined) return state
      // Others have no type either; without an announcement, which may have been lost, only its form tells.
      if (now - (state.compactTime ?? 0) > COMPACTION_LASTS && !event.lastMessage.includes("<summary>"))
        return state
      return { ...state, summary: remembered(event.lastMessage, SUMMARY_REMEMBERED, secrets) }
    case "session-end":
      return state.promptOpen && event.reason === "clear" ? { ...state, promptOpen: false } : state
    case "session-start":
      return event.source === "resume" || event.source === "fork" ? { ...state, resumedAt: size } : state
  }
}

/** The beginning of a text without secrets. Only that part is searched, since a megabyte may take a second. */
function remembered(text: string, most: number, secrets: SecretSettings): string {
  const beginning = text.slice(0, most + LONGEST_SECRET).toWellFormed()
  // An opening tag hides text even if merely mentioned, provided that a closing one follows anywhere.
  const isClosed = text.length > beginning.length && /<\/private>/i.test(text.slice(beginning.length))
  return filterText(isClosed ? `${beginning}</private>` : beginning, secrets).slice(0, most)
}
