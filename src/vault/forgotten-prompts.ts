/**
 * What must not be archived of Claude Code's list of all prompts: those of sessions that are forgotten. Hooks never read
 * that list, so this is no part of `forgottenOf`.
 */
import { historyPrompt } from "../agents/agents.ts"
import { HISTORY } from "../base/session-id.ts"
import type { HistoryPrompt } from "../record/agent.ts"
import { linesIn } from "../record/lines-with.ts"
import { FILLER } from "../secrets/fill.ts"
import { fillLines } from "./tombstone.ts"
import { type Forgotten, readTombstone, tombstoneCount } from "./tombstones.ts"

/** undefined if nothing at all is forgotten. */
export function forgottenPrompts(dataHome: string): Forgotten | undefined {
  if (tombstoneCount(dataHome) === 0) return undefined
  const own = readTombstone(dataHome, HISTORY)
  const sessions = new Map<string, boolean>()
  const isForgotten = ({ session }: HistoryPrompt): boolean => {
    const known = sessions.get(session) ?? readTombstone(dataHome, session)?.whole === true
    sessions.set(session, known)
    return known
  }
  return {
    whole: own?.whole === true,
    edit: (content) => withoutPrompts(own === undefined ? content : fillLines(content, own), isForgotten),
  }
}

/** Fills the lines of prompts that are not wanted. Returns the same array if there is none. */
export function withoutPrompts(
  content: Uint8Array,
  isUnwanted: (prompt: HistoryPrompt) => boolean,
): Uint8Array {
  let out = content
  for (const [start, end] of linesIn(content)) {
    const prompt = historyPrompt(Buffer.from(content.subarray(start, end)).toString("utf8"))
    if (prompt === undefined || !isUnwanted(prompt)) continue
    if (out === content) out = new Uint8Array(content)
    out.fill(FILLER, start, end)
  }
  return out
}
