/** Where OpenAI's Codex keeps its sessions, and how it names them. Pure; hooks load it. */
import { dirname, join } from "../../base/path.ts"
import type { FileLayout } from "../../record/agent.ts"

/** Its folder in the user's home folder, unless `CODEX_HOME` names another. */
export const CODEX_FOLDER = ".codex"

/** By day, and those that the user has put aside with `codex archive`. */
export const codexTranscripts = (folder: string): string[] => [
  join(folder, "sessions"),
  join(folder, "archived_sessions"),
]

/** `rollout-<local time>-<thread>.jsonl` */
const ROLLOUT = /\/rollout-[^/]*([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.jsonl$/
const BELOW = /\/(?:archived_)?sessions\/(?!.*\/sessions\/).*/

const owns = (path: string): boolean => ROLLOUT.test(path)

export const codexLayout: FileLayout = {
  owns,
  // A subagent has a thread and a file of its own, and only its first line tells whose it is.
  namesInPath: (path) => ({ session: ROLLOUT.exec(path)?.[1], agent: undefined }),
  // `codex archive` moves the file, which then is still the same transcript.
  copyPlace: (path) => ({
    top: "codex",
    root: BELOW.test(path) ? path.replace(BELOW, "") : dirname(path),
    usual: CODEX_FOLDER,
  }),
  isNamedAsTranscript: owns,
}
