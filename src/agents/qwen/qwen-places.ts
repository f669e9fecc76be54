/** Where Qwen Code keeps its sessions, and how it names them. Pure; hooks load it. */
import { basename, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout, TranscriptName } from "../../record/agent.ts"

/** The first one is meant for what it writes by itself, the second for all of its files. */
const VARIABLES = ["QWEN_RUNTIME_DIR", "QWEN_HOME"] as const
const USUAL = ".qwen"
const PROJECTS = "/projects/"

export function qwenTranscripts({ home, named }: AgentPlaces): string[] {
  const folder = VARIABLES.map(named).find((one) => one !== undefined) ?? join(home, USUAL)
  return [join(folder, "projects")]
}

/** `<session>.jsonl`, also of sessions that the user has put aside. */
const SESSION = /\/projects\/[^/]+\/chats\/(?:archive\/)?([^/]+)\.jsonl$/
const SUBAGENT = /\/projects\/[^/]+\/subagents\/([^/]+)\/agent-([^/]+)\.jsonl$/
const FOLDER = `/${USUAL}${PROJECTS}`

export const isQwenTranscript = (path: string): boolean => SESSION.test(path) || SUBAGENT.test(path)

export const qwenLayout: FileLayout = {
  owns: (path) => isQwenTranscript(path) || path.includes(FOLDER),
  variables: VARIABLES,
  isTranscript: isQwenTranscript,
  namesInPath,
  parentOf: (path) =>
    path.replace(
      SUBAGENT,
      (found, session: string) => `${found.slice(0, found.indexOf("/subagents/"))}/chats/${session}.jsonl`,
    ),
  top: "qwen",
  // Copies are named as Claude Code's are: the session, or what is below its folder.
  copyPlace(path) {
    const { session, agent } = namesInPath(path)
    const below = agent === undefined ? basename(path) : `${session}/subagents/agent-${agent}.jsonl`
    return { root: path.slice(0, Math.max(0, path.lastIndexOf(PROJECTS))), usual: USUAL, below }
  },
}

function namesInPath(path: string): TranscriptName {
  const [, parent, agent] = SUBAGENT.exec(path) ?? []
  return { session: parent ?? SESSION.exec(path)?.[1] ?? basename(path).replace(/\.jsonl$/, ""), agent }
}
