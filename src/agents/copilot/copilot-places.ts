/** Where GitHub's Copilot CLI keeps its sessions, and how it names them. Pure. */
import { join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout } from "../../record/agent.ts"

const HOME = "COPILOT_HOME"
const USUAL = ".copilot"
const SESSIONS = "session-state"

export const copilotFolder = ({ home, named }: Pick<AgentPlaces, "home" | "named">): string =>
  named(HOME) ?? join(home, USUAL)

export const copilotTranscripts = (places: AgentPlaces): string[] => [join(copilotFolder(places), SESSIONS)]

/** Lists the servers that it starts, below its folder. */
export const SERVERS_FILE = "mcp-config.json"

/** A session's transcript below the folder. */
export const copilotTranscript = (folder: string, session: string): string =>
  join(folder, SESSIONS, session, "events.jsonl")

/** `<session>/events.jsonl`, in a backup, too; up to 2025, `<session>.jsonl`. */
const EVENTS =
  /\/(?:session-state\/([^/]+?)(?:\/events)?|([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\/events)\.jsonl$/i
const FOLDER = `/${SESSIONS}/`

const sessionIn = (path: string): string | undefined => {
  const [, below, elsewhere] = EVENTS.exec(path) ?? []
  return below ?? elsewhere
}

export const copilotLayout: FileLayout = {
  owns: (path) => EVENTS.test(path) || path.includes(`/${USUAL}${FOLDER}`),
  variables: [HOME],
  // A session's folder also holds files that its model has written.
  isTranscript: (path) => EVENTS.test(path),
  // Subagents write into their session's file.
  namesInPath: (path) => ({ session: sessionIn(path), agent: undefined }),
  copyPlace: (path) => ({
    root: path.replace(EVENTS, "").replace(/\/$/, ""),
    usual: USUAL,
    below: `${sessionIn(path) ?? "unknown"}.jsonl`,
  }),
}
