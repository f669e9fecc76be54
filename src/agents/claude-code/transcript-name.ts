/** How Claude Code names transcripts. Pure. */
import { basename } from "../../util/path.ts"
import { isPlainId } from "../../util/session-id.ts"
import type { TranscriptName } from "../agent.ts"

const PROJECTS = "/projects/"
const SUBAGENTS = "/subagents/"
/** Whatever is in this folder is no transcript. */
const OUTPUTS = "tool-results"

/** The list of all prompts, which is no transcript (prompt-history.ts). */
export const PROMPT_HISTORY = "history.jsonl"

export const isPromptHistory = (path: string): boolean =>
  path.endsWith(`/${PROMPT_HISTORY}`) || path === PROMPT_HISTORY

/** Sessions from another tool's archive (foreign/marked-lines.ts), which no agent is ever started with. */
const IMPORTED = /^[A-Za-z0-9][\w-]{0,127}~[a-z][a-z-]{0,30}$/

/**
 * A session's id: its name, if that is one, or else the SHA-256 of the name. Anything may be the name of a file, and an id
 * becomes a word of a command, the name of another file, and a field of what is sent.
 */
export const sessionIdOf = (name: string): string =>
  isPlainId(name) || IMPORTED.test(name)
    ? name
    : new Bun.CryptoHasher("sha256").update(name.toWellFormed()).digest("hex")

/**
 * Sessions are `<session>.jsonl`. Subagents are `agent-<id>.jsonl`, beside them (up to 2.0) or below
 * `<session>/subagents/` (from 2.1), where those of a workflow are in `workflows/<run>/`, along with its
 * `journal.jsonl`.
 */
export function transcriptName(transcript: string): TranscriptName {
  const { session, agent } = namesInPath(transcript)
  return { session: session === undefined ? undefined : sessionIdOf(session), agent }
}

/** A file that Claude Code keeps beside a session's transcript: long outputs, plans, what a subagent was started as. */
interface PlaceBeside {
  /** The session's name as it is in the path. */
  readonly session: string
  /** Its path below the session's folder. */
  readonly name: string
}

/** @returns undefined for a transcript, and for what is not in a session's folder */
export function placeBeside(path: string): PlaceBeside | undefined {
  const at = path.lastIndexOf(PROJECTS)
  return at < 0 ? undefined : placeBelowProjects(path.slice(at + PROJECTS.length))
}

/** @param below path below the folder of all transcripts */
export function placeBelowProjects(below: string): PlaceBeside | undefined {
  const [, session, ...rest] = below.split("/")
  const isBeside = rest.length > 0 && (!below.endsWith(".jsonl") || rest[0] === OUTPUTS)
  return isBeside && session !== undefined ? { session, name: rest.join("/") } : undefined
}

/** The same with the session's name as it is in the path. */
export function namesInPath(transcript: string): TranscriptName {
  const beside = placeBeside(transcript)
  if (beside !== undefined)
    return { session: beside.session, agent: /^subagents\/agent-([^./]+)\./.exec(beside.name)?.[1] }
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
