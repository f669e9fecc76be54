/** Where OpenAI's Codex keeps its sessions, and how it names them. Pure. */
import { basename, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout } from "../../record/agent.ts"

const HOME = "CODEX_HOME"
const USUAL = ".codex"

export const codexFolder = ({ home, named }: Pick<AgentPlaces, "home" | "named">): string =>
  named(HOME) ?? join(home, USUAL)

/** By day, and those that the user has put aside with `codex archive`. */
export function codexTranscripts(places: AgentPlaces): string[] {
  const folder = codexFolder(places)
  return [join(folder, "sessions"), join(folder, "archived_sessions")]
}

/** `rollout-<local time>-<thread>.jsonl`, which some versions compress. */
const ROLLOUT = /\/rollout-[^/]+-([\da-f-]{36})\.jsonl(?:\.zst)?$/
/** What is below its folder; of a file that lies elsewhere, the name. */
const BELOW = /\/(?:(?:archived_)?sessions\/.*|[^/]*)$/

export const codexLayout: FileLayout = {
  owns: (path) => ROLLOUT.test(path),
  isTranscript: (path) => ROLLOUT.test(path),
  isDocument: (path) => path.endsWith(".zst"),
  variables: [HOME],
  // A subagent has a thread and a file of its own, and only its first line tells whose it is.
  namesInPath: (path) => ({ session: ROLLOUT.exec(path)?.[1], agent: undefined }),
  // `codex archive` moves the file, which then is still the same transcript.
  // A compressed one is the same, too.
  copyPlace: (path) => ({
    root: path.replace(BELOW, ""),
    usual: USUAL,
    below: basename(path).replace(/\.zst$/, ""),
  }),
}
