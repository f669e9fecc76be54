/** Where Claude Code keeps its files. Pure. */
import { basename, join } from "../base/path.ts"
import type { FileLayout, PlaceBeside, TranscriptName } from "../record/agent.ts"

/** Its configuration folder, unless `CLAUDE_CONFIG_DIR` names another. */
export const configFolder = (home: string): string => join(home, ".claude")

/** Its own state, servers included: beside the folder, or within another that was named. */
export const stateFile = (home: string, named: string | undefined): string =>
  join(named ?? home, ".claude.json")

/** Transcripts, by project. */
export const transcriptsFolder = (configFolder: string): string => join(configFolder, "projects")

/** What belongs to one project: the name of its folder with everything but letters and digits replaced. */
export const projectFolder = (configFolder: string, folder: string): string =>
  join(transcriptsFolder(configFolder), projectSlug(folder))

export const projectSlug = (folder: string): string => folder.replace(/[^A-Za-z0-9]/g, "-")

export const userSettings = (configFolder: string): string => join(configFolder, "settings.json")

/** Shared with the project's other users, and the user's own. */
export const PROJECT_SETTINGS = {
  project: ".claude/settings.json",
  local: ".claude/settings.local.json",
} as const

/** The command that starts it. */
export const COMMAND = "claude"

/** Where its installers link the program: the native one, and the one that npm keeps for the user alone. */
export const programFolders = (home: string): string[] => [
  join(home, ".local/bin"),
  join(configFolder(home), "local"),
]

/** What it reads into every context, below its configuration folder. */
export const MEMORY = { file: "CLAUDE.md", rules: "rules" } as const

/** The same below a project's folder and those above it. */
export const PROJECT_MEMORY = {
  files: ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
  rules: ".claude/rules",
} as const

/**
 * What newer versions of Claude Code write down for themselves, below `projectFolder` unless the settings name a
 * folder.
 */
export const OWN_MEMORY = { folder: "memory", file: "MEMORY.md" } as const

/* How Claude Code names its files. Pure. */

const PROJECTS = "/projects/"
const SUBAGENTS = "/subagents/"
/** Whatever is in this folder is no transcript. */
const OUTPUTS = "tool-results"

/** The list of all prompts, which is no transcript (claude-code.ts). */
export const PROMPT_HISTORY = "history.jsonl"

const SESSION = /\/projects\/[^/]+\/(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|agent-[^/]+)\.jsonl$/i
const SUBAGENT = /\/projects\/[^/]+\/[^/]+\/subagents\//

/** Whether a file lies as transcripts do in the folder of all projects, which may be a backup. */
export const liesAsTranscript = (path: string): boolean => SESSION.test(path) || SUBAGENT.test(path)

/** In the usual folder, the session's and its subagents' transcripts: no other agent has such paths. */
const FOR_SURE =
  /(?:^|\/\.claude)\/projects\/[^/]+\/(?:agent-[^/]+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:\/subagents\/(?:.+\/)?agent-[^/]+)?)\.jsonl$/i

export const isClaudesForSure = (path: string): boolean => FOR_SURE.test(path)

export const claudeLayout: FileLayout = {
  owns: (path) => path.includes(PROJECTS) || isPromptHistory(path),
  namesInPath,
  placeBeside,
}

/** Whether it is a list of all prompts, which is no transcript. */
export function isPromptHistory(path: string): boolean {
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
