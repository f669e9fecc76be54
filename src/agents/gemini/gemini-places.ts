/** Where Gemini CLI keeps its sessions, and how it names them. Pure. */
import { basename, dirname, isAbsolute, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout, TranscriptName } from "../../record/agent.ts"

/** The folder that it takes for the user's home. */
const HOME = "GEMINI_CLI_HOME"
const USUAL = ".gemini"

/** Of its settings, and of all that it writes by itself. */
export const geminiFolder = ({ home, named }: Pick<AgentPlaces, "home" | "named">): string =>
  join(named(HOME) ?? home, USUAL)

/** Hooks and servers are in it. */
export const geminiSettings = (places: Pick<AgentPlaces, "home" | "named">): string =>
  join(geminiFolder(places), "settings.json")

export const geminiTranscripts = (places: AgentPlaces): string[] => [join(geminiFolder(places), "tmp")]

/** `session-<time>-<begin of its id>.jsonl`; only its lines tell the whole id. */
const SESSION = /\/session-\d{4}-\d\d-\d\dT\d\d-\d\d-[\da-f]{8}\.jsonl$/
/** Versions up to about 0.39 kept a session as one document. */
const DOCUMENT = /\/session-\d{4}-\d\d-\d\dT\d\d-\d\d-[\da-f]{8}\.json$/
/** `<session>/<id>.jsonl` */
const SUBAGENT = /\/chats\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\/([^/]+)\.jsonl$/
const FOLDER = `/${USUAL}/tmp/`
/** A project's folder in which the chats are. */
const BELOW = /\/tmp\/[^/]+\/chats\/.*$/

export const isGeminiSubagent = (path: string): boolean => SUBAGENT.test(path)

export const isGeminiTranscript = (path: string): boolean =>
  SESSION.test(path) || SUBAGENT.test(path) || DOCUMENT.test(path)

export const geminiLayout: FileLayout = {
  owns: (path) => isGeminiTranscript(path) || path.includes(FOLDER),
  variables: [HOME],
  isTranscript: isGeminiTranscript,
  isDocument: (path) => DOCUMENT.test(path),
  namesInPath,
  folderInLine,
  copyPlace(path) {
    const { session, agent } = namesInPath(path)
    const below = agent === undefined ? basename(path) : `${session}/subagents/agent-${agent}.jsonl`
    return { root: BELOW.test(path) ? path.replace(BELOW, "") : dirname(path), usual: USUAL, below }
  },
}

function namesInPath(path: string): TranscriptName {
  const [, session, agent] = SUBAGENT.exec(path) ?? []
  return { session, agent }
}

const WORKSPACE = /- \*\*Workspace Directories:\*\*\\n {2}- (.+?)\\n/
const DIRECTORIES = /"directories":\["([^"\\]+)"/

/** As it stands in the JSON of a session's beginning. */
function folderInLine(line: string): string | undefined {
  const folder = DIRECTORIES.exec(line)?.[1] ?? WORKSPACE.exec(line)?.[1]
  return folder !== undefined && isAbsolute(folder) ? folder : undefined
}
