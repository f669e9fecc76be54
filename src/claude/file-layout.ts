/** How Claude Code names its files. Pure. */

import { basename } from "../base/path.ts"
import type { FileLayout, PlaceBeside, TranscriptName } from "../record/agent.ts"

const PROJECTS = "/projects/"
const SUBAGENTS = "/subagents/"
/** Whatever is in this folder is no transcript. */
const OUTPUTS = "tool-results"

/** The list of all prompts, which is no transcript (claude-code.ts). */
export const PROMPT_HISTORY = "history.jsonl"

const SESSION = /\/projects\/[^/]+\/(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|agent-[^/]+)\.jsonl$/i
const SUBAGENT = /\/projects\/[^/]+\/[^/]+\/subagents\//

export const claudeLayout: FileLayout = {
  owns: (path) => path.includes(PROJECTS) || isHistory(path),
  namesInPath,
  placeBeside,
  isPromptHistory: isHistory,
  isNamedAsTranscript: (path) => SESSION.test(path) || SUBAGENT.test(path),
}

function isHistory(path: string): boolean {
  return path.endsWith(`/${PROMPT_HISTORY}`) || path === PROMPT_HISTORY
}

/**
 * Sessions are `<session>.jsonl`. Subagents are `agent-<id>.jsonl`, beside them (up to 2.0) or below
 * `<session>/subagents/` (from 2.1), where those of a workflow are in `workflows/<run>/`, along with its
 * `journal.jsonl`.
 */
function namesInPath(transcript: string): TranscriptName {
  const beside = placeBeside(transcript)
  if (beside !== undefined)
    return { session: beside.session, agent: /^subagents\/agent-([^./]+)\./.exec(beside.name)?.[1] }
  const path = transcript.replace(/\.jsonl$/, "")
  const stem = basename(path)
  const projects = path.lastIndexOf(PROJECTS)
  // Folders above Claude Code's `projects` say nothing.
  const at = path.indexOf(SUBAGENTS, projects + 1)
  const session = at > 0 ? basename(path.slice(0, at)) : undefined
  if (stem.startsWith("agent-")) return { session, agent: stem.slice("agent-".length) }
  return session === undefined || projects < 0
    ? { session: stem, agent: undefined }
    : { session, agent: path.slice(at + SUBAGENTS.length) }
}

function placeBeside(path: string): PlaceBeside | undefined {
  const at = path.lastIndexOf(PROJECTS)
  if (at < 0) return undefined
  const below = path.slice(at + PROJECTS.length)
  const [, session, ...rest] = below.split("/")
  const isBeside = rest.length > 0 && (!below.endsWith(".jsonl") || rest[0] === OUTPUTS)
  return isBeside && session !== undefined ? { session, name: rest.join("/") } : undefined
}
