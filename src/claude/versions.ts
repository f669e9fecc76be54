/**
 * From which version on Claude Code does what matters to us. Versions in between those that were tried count as the one
 * before (docs/hooks.md). Pure.
 */

type ClaudeVersion = readonly [major: number, minor: number, patch: number]

/** Whether a version such as `2.1.112` is at least this one; false for an unknown version. */
export function atLeast(version: string | undefined, least: ClaudeVersion): boolean {
  const parts = (version ?? "").split(".").map(Number)
  for (let n = 0; n < 3; n++) {
    const part = parts[n] ?? Number.NaN
    if (Number.isNaN(part)) return false
    if (part !== least[n]) return part > least[n]!
  }
  return true
}

/** It tells the exit status of every command that ran and failed. */
export const TELLS_STATUS: ClaudeVersion = [2, 0, 0]
/**
 * The result of a failed command begins with its exit status (or earlier, but after 2.0.5). Before, it is the command's
 * own output.
 */
export const HEADS_OUTPUT: ClaudeVersion = [2, 0, 55]
/** The oldest that was seen to show skills and commands again after a compaction. */
export const SHOWS_AGAIN: ClaudeVersion = [2, 0, 76]
/** The oldest that was seen to show the last used files again. */
export const SHOWS_FILES: ClaudeVersion = [2, 0, 76]
/** The oldest that was seen to heed CLAUDE_AUTOCOMPACT_PCT_OVERRIDE. */
export const PERCENT_FROM: ClaudeVersion = [2, 0, 76]
/** It says when a human refuses. */
export const TELLS_REFUSALS: ClaudeVersion = [2, 1, 0]
/** It does not show the todos again. */
export const HIDES_TODOS: ClaudeVersion = [2, 1, 0]
/** The oldest known to write hook context into the transcript. */
export const TELLS_CONTEXT: ClaudeVersion = [2, 1, 112]
/** The oldest that was seen to show again what the user invoked. */
export const SHOWS_TYPED: ClaudeVersion = [2, 1, 112]
/** It keeps the plan of a resumed session. */
export const KEEPS_PLAN: ClaudeVersion = [2, 1, 112]
/** The oldest that was seen to heed the refusal of a compaction. Older ones would paste it into their instructions. */
export const HEEDS_REFUSAL: ClaudeVersion = [2, 1, 112]
/**
 * The oldest that was seen to ask for the beta of the API in all its requests. 2.0.76 does so, if told to, for the
 * conversation only; its small requests bring the setting too, and would be refused.
 */
export const CLEARS_FROM: ClaudeVersion = [2, 1, 112]
/** The oldest that was seen to heed CLAUDE_CODE_AUTO_COMPACT_WINDOW. */
export const WINDOW_FROM: ClaudeVersion = [2, 1, 112]
/** 2.1.112 does not heed the setting `autoCompactEnabled`, 2.1.329 does; none in between was tried. */
export const HEEDS_SETTING: ClaudeVersion = [2, 1, 113]
/** It keeps the model's last message at a compaction. */
export const KEEPS_LAST: ClaudeVersion = [2, 1, 200]
/** It keeps a prompt that was still untouched at an automatic compaction. */
export const KEEPS_PENDING: ClaudeVersion = [2, 1, 300]
/** The oldest that was seen to ask plugins for a compaction. */
export const ASKS_PLUGINS: ClaudeVersion = [2, 1, 329]
