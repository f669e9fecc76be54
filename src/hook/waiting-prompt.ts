/** The prompt that waits for an answer, as a restore takes it. Pure. */
import { userTextParts } from "../claude/user-text.ts"
import type { PendingPrompt } from "../restore/gather.ts"
import type { SessionState } from "./state.ts"

/** @returns undefined if the last prompt was answered, or if no human wrote any of it */
export function waitingPrompt({
  prompt = "",
  promptAt = 0,
  promptOpen,
}: SessionState): PendingPrompt | undefined {
  if (promptOpen !== true) return undefined
  const said = userTextParts(prompt, "human").find((part) => part.kind === "prompt")
  return said && { text: said.text, at: promptAt }
}
