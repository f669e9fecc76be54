/** What hooks do only where agents other than Claude Code call them. */
import { agentRows } from "../agents/layouts.ts"
import { statsOf } from "../base/files.ts"
import type { HookForm } from "../record/hook-event.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"
import type { Added, HookCall, Later } from "./call.ts"
import { endOf } from "./notice.ts"
import { isUnanswered, readState } from "./state.ts"

/**
 * How an agent calls hooks and is answered.
 *
 * @throws if nobody is called that
 */
export async function hookFormOf(agent: string): Promise<HookForm> {
  const form = await agentRows()
    .find(({ name }) => name === agent)
    ?.hooks?.()
  if (form === undefined) throw new Error("unknown agent")
  return form
}

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
  const from = known <= size ? known : 0
  const end = withSource(transcript!, (fd) => endOf(from, size, (at, length) => readExactly(fd, at, length)))
  return end === undefined || form.compactionOffsets(end.content).length === 0 ? { isOver: true } : undefined
}

export const AFTER_TOOL: Later = { look: endUnlessCompacted }
