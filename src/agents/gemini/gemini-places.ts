/** Where Gemini CLI keeps its sessions, and how it names them. Pure; hooks load it. */
import { basename, dirname, isAbsolute, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout, TranscriptName } from "../../record/agent.ts"

/** The folder that it takes for the user's home. */
const HOME = "GEMINI_CLI_HOME"
const USUAL = ".gemini"

export const geminiTranscripts = ({ home, named }: AgentPlaces): string[] => [
  join(named(HOME) ?? home, USUAL, "tmp"),
]

/** `session-<time>-<begin of its id>.jsonl`; only its lines tell the whole id. */
const SESSION = /\/session-\d{4}-\d\d-\d\dT\d\d-\d\d-[\da-f]{8}\.jsonl$/
/** Versions up to about 0.39 kept a session as one document. */
const DOCUMENT = /\/session-\d{4}-\d\d-\d\dT\d\d-\d\d-[\da-f]{8}\.json$/
/** `<session>/<id>.jsonl` */
const SUBAGENT = /\/chats\/([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\/([^/]+)\.jsonl$/
const FOLDER = `/${USUAL}/tmp/`
/** A project's folder in which the chats are. */
const BELOW = /\/tmp\/[^/]+\/chats\/.*$/

export const isGeminiTranscript = (path: string): boolean =>
  SESSION.test(path) || SUBAGENT.test(path) || DOCUMENT.test(path)

export const geminiLayout: FileLayout = {
  owns: (path) => isGeminiTranscript(path) || path.includes(FOLDER),
  variables: [HOME],
  isTranscript: isGeminiTranscript,
  isDocument: (path) => DOCUMENT.test(path),
  namesInPath,
  folderInLine,
  top: "gemini",
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
