/** How Cline names its sessions and, in VS Code, its tasks. Pure. */
import type { FileLayout } from "../../record/agent.ts"

/** Of the folder of sessions, of the one around it, and of the one around that. */
export const CLINE_VARIABLES = ["CLINE_SESSION_DATA_DIR", "CLINE_DATA_DIR", "CLINE_DIR"]

/** `<session>/<session>.messages.json`, and a task of VS Code's: `tasks/<task>/api_conversation_history.json`. */
const SESSION = /^(.*)\/([^/]+)\/(?:\2\.messages|(?<=claude-dev\/tasks\/\2\/)api_conv\w+)\.json$/

export const isClineSession = (path: string): boolean => SESSION.test(path)
export const clineName = (path: string): string | undefined => SESSION.exec(path)?.[2]

export const clineLayout: FileLayout = {
  owns: (path) => isClineSession(path) || path.includes("/.cline/"),
  variables: CLINE_VARIABLES,
  isTranscript: isClineSession,
  isDocument: isClineSession,
  namesInPath: (path) => ({ session: clineName(path), agent: undefined }),
  copyPlace(path) {
    const [, root = "", name] = SESSION.exec(path) ?? []
    return { root, usual: ".cline/data/sessions", below: `${name}.jsonl` }
  },
}
