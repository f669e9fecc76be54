/** Where Cursor's command line keeps its transcripts, and how it names them. Pure. */
import { basename, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout } from "../../record/agent.ts"

const HOME = "CURSOR_CONFIG_DIR"
const USUAL = ".cursor"

export const cursorTranscripts = ({ home, named }: AgentPlaces): string[] => [
  join(named(HOME) ?? join(home, USUAL), "projects"),
]

/** `<session>.jsonl`, or in a folder of the session's; its subagents' are below that. */
const TRANSCRIPT = /^(.*)\/projects\/[^/]+\/agent-transcripts\/(?:([^/]+)\/)?(?:subagents\/)?([^/]+)\.jsonl$/
const FOLDER = `/${USUAL}/projects/`

export const isCursorTranscript = (path: string): boolean => TRANSCRIPT.test(path)

export const cursorLayout: FileLayout = {
  owns: (path) => isCursorTranscript(path) || path.includes(FOLDER),
  variables: [HOME],
  isTranscript: isCursorTranscript,
  namesInPath(path) {
    const [, , folder, name] = TRANSCRIPT.exec(path) ?? []
    const isSubagent = folder !== undefined && folder !== name
    return isSubagent ? { session: folder, agent: name } : { session: name ?? stem(path), agent: undefined }
  },
  parentOf: (path) =>
    path.replace(/\/(?:subagents\/)?[^/]+\.jsonl$/, (found) => `/${sessionIn(path) ?? stem(found)}.jsonl`),
  copyPlace(path) {
    const [, root = "", folder, name = stem(path)] = TRANSCRIPT.exec(path) ?? []
    const isSubagent = folder !== undefined && folder !== name
    return {
      root,
      usual: USUAL,
      below: isSubagent ? `${folder}/subagents/agent-${name}.jsonl` : `${name}.jsonl`,
    }
  },
}

const sessionIn = (path: string): string | undefined => TRANSCRIPT.exec(path)?.[2]
const stem = (path: string): string => basename(path).replace(/\.jsonl$/, "")
