/**
 * Where opencode keeps its sessions. They are rows of a database, or files of their own for each message and part, so a
 * session's transcript is made of them, and has a path that no file has. Pure.
 */
import { dirname, join } from "../../base/path.ts"
import type { AgentPlaces, FileLayout } from "../../record/agent.ts"

const USUAL = ".local/share/opencode"

export function opencodeFolders({ home, named }: AgentPlaces): string[] {
  const data = named("XDG_DATA_HOME")
  return [data === undefined ? join(home, USUAL) : join(data, "opencode")]
}

/** Where its settings and plugins are. */
export function opencodeConfigFolder({ home, named }: AgentPlaces): string {
  const config = named("XDG_CONFIG_HOME")
  return config === undefined ? join(home, ".config", "opencode") : join(config, "opencode")
}

/** Its files of settings in that folder: what a later one says counts. */
export const CONFIG_NAMES = ["config.json", "opencode.json", "opencode.jsonc"] as const

/** Below opencode's folder. No folder of its own has that name. */
const MADE = "session~"
const TRANSCRIPT = /^(.*\/opencode)\/session~\/([^/]+)\.jsonl$/
/** @param folder opencode's */
export const opencodeTranscript = (folder: string, session: string): string =>
  join(folder, MADE, `${session}.jsonl`)

/** The session that a transcript of this kind is made of; undefined for any other path. */
export function opencodeSession(
  path: string,
): { readonly folder: string; readonly session: string } | undefined {
  const [, folder, session] = TRANSCRIPT.exec(path) ?? []
  return folder === undefined || session === undefined ? undefined : { folder, session }
}

/** `opencode.db`, and those of its other channels. */
const DATABASE = /^.*\/opencode\/opencode(?:-[\w.-]+)?\.db$/

export const isOpencodeDatabase = (path: string): boolean => DATABASE.test(path)

export const opencodeLayout: FileLayout = {
  // A database that cannot be read stands for its sessions, which nobody can name.
  owns: (path) => TRANSCRIPT.test(path) || isOpencodeDatabase(path),
  isRows: true,
  namesInPath: (path) => ({ session: TRANSCRIPT.exec(path)?.[2], agent: undefined }),
  copyPlace: (path) => ({ root: dirname(dirname(path)), usual: USUAL }),
}
