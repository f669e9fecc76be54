/** Where Qwen Code keeps its sessions, how it names them, and what hooks read in them. Pure. */
import { basename, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout, TranscriptName } from "../../record/agent.ts"
import { type JsonObject, objectOf, stringOf } from "../../record/json.ts"

/** For what it writes by itself, and for all of its files. */
const RUNTIME = "QWEN_RUNTIME_DIR"
const HOME = "QWEN_HOME"
const USUAL = ".qwen"
const PROJECTS = "/projects/"

/** Of its settings. */
export const qwenFolder = ({ home, named }: Pick<AgentPlaces, "home" | "named">): string =>
  named(HOME) ?? join(home, USUAL)

/** Hooks and servers are in it. */
export const qwenSettings = (places: Pick<AgentPlaces, "home" | "named">): string =>
  join(qwenFolder(places), "settings.json")

export const qwenTranscripts = (places: AgentPlaces): string[] => [
  join(places.named(RUNTIME) ?? qwenFolder(places), "projects"),
]

/** What Qwen Code says to the model behind a compaction's summary. */
const GO_ON = /\n\nResume the prior task using the summary above\.[\s\S]*$/

/** @param payload of a compaction's line */
export function compactionSummary(payload: JsonObject): string | undefined {
  const history = payload["compressedHistory"]
  const parts = Array.isArray(history) ? objectOf(history[0])["parts"] : undefined
  const texts = (Array.isArray(parts) ? parts : []).flatMap((one) => stringOf(objectOf(one)["text"]) ?? [])
  return texts[0]?.replace(GO_ON, "")
}

/** `<session>.jsonl`, also of sessions that the user has put aside. */
const SESSION = /\/projects\/[^/]+\/chats\/(?:archive\/)?([^/]+)\.jsonl$/
const SUBAGENT = /\/projects\/[^/]+\/subagents\/([^/]+)\/agent-([^/]+)\.jsonl$/
const FOLDER = `/${USUAL}${PROJECTS}`

export const isQwenTranscript = (path: string): boolean => SESSION.test(path) || SUBAGENT.test(path)

export const qwenLayout: FileLayout = {
  owns: (path) => isQwenTranscript(path) || path.includes(FOLDER),
  variables: [RUNTIME, HOME],
  isTranscript: isQwenTranscript,
  namesInPath,
  parentOf: (path) =>
    path.replace(
      SUBAGENT,
      (found, session: string) => `${found.slice(0, found.indexOf("/subagents/"))}/chats/${session}.jsonl`,
    ),
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
