/** Where Amp kept its threads, and how it names them. Pure. */
import { join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout } from "../../record/agent.ts"

const DATA = "XDG_DATA_HOME"
const USUAL = ".local/share/amp"

export const ampThreads = ({ home, named }: AgentPlaces): string[] => {
  const data = named(DATA)
  return [join(data === undefined ? join(home, USUAL) : join(data, "amp"), "threads")]
}

/** `<thread>.json` */
const THREAD = /^(.*\/amp)\/threads\/([^/]+)\.json$/

export const isAmpThread = (path: string): boolean => THREAD.test(path)

export const ampLayout: FileLayout = {
  owns: isAmpThread,
  isTranscript: isAmpThread,
  isDocument: isAmpThread,
  namesInPath: (path) => ({ session: THREAD.exec(path)?.[2], agent: undefined }),
  copyPlace: (path) => {
    const [, root = "", thread = ""] = THREAD.exec(path) ?? []
    return { root, usual: USUAL, below: `${thread}.jsonl` }
  },
}
