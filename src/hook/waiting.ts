/** The prompt that waits for an answer, as a restore takes it. Pure. */
import type { PendingPrompt } from "../restore/gather.ts"
import type { SessionState } from "./state.ts"

/** @returns undefined if the last prompt was answered */
export const waitingPrompt = ({
  prompt,
  promptAt = 0,
  promptOpen,
}: SessionState): PendingPrompt | undefined =>
  promptOpen === true && prompt !== undefined ? { text: prompt, at: promptAt } : undefined
