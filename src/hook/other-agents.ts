/**
 * How agents other than Claude Code call hooks, and are answered: one row each. Loaded only where such an agent calls, as
 * one module (build/bundles.ts).
 */
import { CODEX_HOOKS } from "../agents/codex/codex-hooks.ts"
import { COPILOT_HOOKS } from "../agents/copilot/copilot-hooks.ts"
import { GEMINI_HOOKS } from "../agents/gemini/gemini-hooks.ts"
import { OPENCODE_HOOKS } from "../agents/opencode/opencode-hooks.ts"
import { QWEN_HOOKS } from "../agents/qwen/qwen-hooks.ts"
import { statsOf } from "../base/files.ts"
import type { HookForm } from "../record/hook-event.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"
import type { Added, HookCall, Later } from "./call.ts"
import { isUnanswered, readState } from "./state.ts"

/** By the names that hook commands and options have for them. */
const FORMS: Readonly<Record<string, HookForm>> = {
  codex: CODEX_HOOKS,
  copilot: COPILOT_HOOKS,
  gemini: GEMINI_HOOKS,
  opencode: OPENCODE_HOOKS,
  qwen: QWEN_HOOKS,
}

/** @throws if nobody is called that */
export function hookFormOf(agent: string): HookForm {
  const form = Object.hasOwn(FORMS, agent) ? FORMS[agent] : undefined
  if (form === undefined) throw new Error("unknown agent")
  return form
}

/** Bytes to read at the end of a transcript. */
const LOOKED_AT = 2 << 20

/**
 * After a tool, which is often: ends the call unless the end of the transcript has a compaction that is to be answered.
 * Agents that compact while they work write it down some lines before, and nothing else tells of it. The archive follows
 * at other events.
 */
function endUnlessCompacted({ event, form, settings }: HookCall): Added | undefined {
  const { transcript, session } = event
  const size = transcript === undefined ? undefined : statsOf(transcript)?.size
  if (size === undefined || !settings.resolved.config["restore.enabled"]) return { isOver: true }
  const state = readState(settings.paths.dataHome, session)
  const { seenAt = 0, compactAt = seenAt } = state
  const known = isUnanswered(state) ? Math.min(seenAt, compactAt) : seenAt
  // What was there before is gone from a transcript that has become shorter.
  const from = Math.max(known <= size ? known : 0, size - LOOKED_AT)
  const found = withSource(transcript!, (fd) => form.compactionOffsets(readExactly(fd, from, size - from)))
  return found === undefined || found.length === 0 ? { isOver: true } : undefined
}

export const AFTER_TOOL: Later = { look: endUnlessCompacted }
