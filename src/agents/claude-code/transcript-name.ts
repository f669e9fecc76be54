/** How Claude Code names transcripts. Pure. */
import { basename } from "../../util/path.ts"
import type { TranscriptName } from "../agent.ts"

const PROJECTS = "/projects/"
const SUBAGENTS = "/subagents/"

/**
 * Sessions are `<session>.jsonl`. Subagents are `agent-<id>.jsonl`, beside them (up to 2.0) or below
 * `<session>/subagents/` (from 2.1), where those of a workflow are in `workflows/<run>/`, along with its
 * `journal.jsonl`.
 */
export function transcriptName(transcript: string): TranscriptName {
  const path = transcript.replace(/\.jsonl$/, "")
  const stem = basename(path)
  const projects = path.lastIndexOf(PROJECTS)
  // Folders above the host's `projects` say nothing.
  const at = path.indexOf(SUBAGENTS, projects + 1)
  const session = at > 0 ? basename(path.slice(0, at)) : undefined
  if (stem.startsWith("agent-")) return { session, agent: stem.slice("agent-".length) }
  return session === undefined || projects < 0
    ? { session: stem, agent: undefined }
    : { session, agent: path.slice(at + SUBAGENTS.length) }
}
