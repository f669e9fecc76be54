/** Where Factory's droid keeps its sessions, and how it names them. Pure. */
import { basename, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout } from "../../record/agent.ts"

const USUAL = ".factory"

/** Older versions had another name for the folder. */
export const droidTranscripts = ({ home }: AgentPlaces): string[] => [
  join(home, USUAL, "sessions"),
  join(home, USUAL, "projects"),
]

/** `<session>.jsonl`, by the project's folder. */
const SESSION = /^(.*\/\.factory)\/(?:sessions|projects)\/(?:[^/]+\/)?([^/]+)\.jsonl$/

export const isDroidTranscript = (path: string): boolean => SESSION.test(path)

export const droidLayout: FileLayout = {
  owns: isDroidTranscript,
  namesInPath: (path) => ({ session: SESSION.exec(path)?.[2], agent: undefined }),
  copyPlace: (path) => ({ root: SESSION.exec(path)?.[1] ?? "", usual: USUAL, below: basename(path) }),
}
