/** Where in the vault a transcript's copy stands. A pure function of paths: no database is needed to find it. */
import { basename, dirname, join } from "../util/path.ts"

const label = (root: string): string =>
  `root-${Bun.hash.xxHash64(root, 0n).toString(16).padStart(16, "0").slice(0, 8)}`

/**
 * The copy's path below `vault/`: the transcript's own path below the host's `projects` folder.
 *
 * @param transcript absolute path, `…/projects/<slug>/<session>.jsonl` or deeper; any other path stands under a
 *   label of its folder
 * @param home the user's home folder: its transcripts stand under `home/`, those of another configuration folder
 *   under a label of it, so that two hosts' files never share a copy
 */
export function vaultPath(transcript: string, home: string): string {
  const parts = transcript.split("/")
  const at = parts.lastIndexOf("projects")
  const nested = at > 0 && parts.length - at > 2
  const root = nested ? parts.slice(0, at + 1).join("/") : dirname(transcript)
  const below = nested ? parts.slice(at + 1).join("/") : basename(transcript)
  const top = root === join(home, ".claude", "projects") ? "home" : label(root)
  return join(top, `${below}.zst`)
}

/** The absolute path of a copy. */
export const vaultFile = (dataHome: string, copy: string): string => join(dataHome, "vault", copy)

/** Whether the copy was made from another tool's archive: those stand in a folder of their own. */
export const isImportedCopy = (copy: string): boolean => copy.startsWith("imported/")

/** Whether the transcript stood outside every host's folder: somebody has named the file, and no host looks for it there. */
export const isLooseCopy = (copy: string): boolean => copy.split("/").length === 2

/** What a transcript's path says of whose it is. */
export interface TranscriptName {
  /** The session it belongs to; undefined for a subagent whose path does not name its parent. */
  readonly session: string | undefined
  /** The subagent, when it is a subagent's transcript; for another file below `subagents/`, its path there. */
  readonly agent: string | undefined
}

const PROJECTS = "/projects/"
const SUBAGENTS = "/subagents/"

/**
 * Sessions are `<session>.jsonl`; subagents `agent-<id>.jsonl` beside them (to 2.0) or below `<session>/subagents/` (from
 * 2.1): there, or those of a workflow in `workflows/<run>/`, together with its `journal.jsonl`.
 */
export function transcriptName(transcript: string): TranscriptName {
  const path = transcript.replace(/\.jsonl$/, "")
  const stem = basename(path)
  const projects = path.lastIndexOf(PROJECTS)
  // What stands above the host's projects says nothing.
  const at = path.indexOf(SUBAGENTS, projects + 1)
  const session = at > 0 ? basename(path.slice(0, at)) : undefined
  if (stem.startsWith("agent-")) return { session, agent: stem.slice("agent-".length) }
  return session === undefined || projects < 0
    ? { session: stem, agent: undefined }
    : { session, agent: path.slice(at + SUBAGENTS.length) }
}

/** Where the `n`th superseded copy goes when the host has rewritten a transcript. */
export const supersededPath = (vaultFile: string, n: number): string =>
  vaultFile.replace(/(\.jsonl)?\.zst$/, (suffix) => `.~${n}${suffix}`)

/** The name that a superseded copy had before. */
export const withoutVersion = (vaultFile: string): string =>
  vaultFile.replace(/\.~\d+((\.jsonl)?\.zst)$/, "$1")

export const isSuperseded = (vaultFile: string): boolean => /\.~\d+(\.jsonl)?\.zst$/.test(vaultFile)
