/** What the events of a session leave for those that come after them: the prompt, a compaction and its summary. Pure. */
import { filterText, type SecretSettings } from "../util/secrets.ts"
import { type HookEvent, isHumanPrompt } from "./event.ts"
import { announcedAt, compactionUnanswered, type SessionState } from "./state.ts"

/** A prompt longer than this is a pasted file; its beginning is enough to know it by. */
const PROMPT_REMEMBERED = 20_000
/** Characters of a summary: no host's is nearly as long. */
const SUMMARY_REMEMBERED = 150_000
/** Characters of what the user has asked a compaction to mind. */
const FOCUS_REMEMBERED = 2000
/** Characters behind what is remembered in which a secret may end that begins in it. */
const LONGEST_SECRET = 1 << 16
/** A summary belongs to a compaction announced within this time, in ms. */
const COMPACTION_LASTS = 10 * 60_000

/**
 * What this event adds to what is known of the session; the same object when it adds nothing.
 *
 * @param now ms since the epoch
 * @param size bytes of the transcript on disk
 */
export function remember(
  state: SessionState,
  event: HookEvent,
  now: number,
  size: number,
  secrets: SecretSettings,
): SessionState {
  switch (event.name) {
    case "user-prompt-submit":
      // Automatic compaction swallows the prompt just typed, so it is kept until the turn has ended.
      if (event.prompt === undefined || !isHumanPrompt(event)) return state
      return {
        ...state,
        prompt: remembered(event.prompt, PROMPT_REMEMBERED, secrets),
        promptAt: size,
        promptOpen: true,
      }
    case "stop":
      return state.promptOpen ? { ...state, promptOpen: false } : state
    case "pre-compact": {
      const { summary: _old, focus: _former, unannounced: _noted, ...rest } = state
      const focus = remembered(event.focus?.trim() ?? "", FOCUS_REMEMBERED, secrets)
      // One that the next prompt is to answer is not forgotten over it.
      const at = compactionUnanswered(state) ? Math.min(state.compactAt ?? size, size) : size
      return {
        ...rest,
        ...(focus === "" ? {} : { focus }),
        compactTime: announcedAt(state, now),
        compactAt: at,
      }
    }
    case "subagent-stop":
      // No agent type: the compaction itself, from 2.1 on. Its summary is not in the transcript yet.
      if (event.agentType !== "" || event.lastMessage === undefined) return state
      if (now - (state.compactTime ?? 0) > COMPACTION_LASTS) return state
      return { ...state, summary: remembered(event.lastMessage, SUMMARY_REMEMBERED, secrets) }
    case "session-end":
      return state.promptOpen && event.reason === "clear" ? { ...state, promptOpen: false } : state
    case "session-start":
      return event.source === "resume" || event.source === "fork" ? { ...state, resumedAt: size } : state
  }
}

/** The beginning of a text, without secrets. No more than that is looked through: a megabyte may take a second. */
function remembered(text: string, most: number, secrets: SecretSettings): string {
  const beginning = text.slice(0, most + LONGEST_SECRET).toWellFormed()
  // A tag that is only mentioned hides all the same if it is closed somewhere.
  const isClosed = text.length > beginning.length && /<\/private>/i.test(text.slice(beginning.length))
  return filterText(isClosed ? `${beginning}</private>` : beginning, secrets).slice(0, most)
}
