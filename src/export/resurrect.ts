/**
 * Sessions written back where the host expects them, so that it can resume what it has deleted. Reads the vault alone:
 * it works without a database.
 */
import { dirname, isAbsolute, join, normalize } from "node:path"
import { type Source, sources } from "../archive/source.ts"
import { CtxError, EXIT, usageError } from "../util/errors.ts"
import { isImportedCopy, isLooseCopy, vaultFile, withoutVersion } from "../vault/layout.ts"
import { type PutBack, type PutOptions, putBack } from "./put-back.ts"
import { folderOfSession } from "./session-folder.ts"

export interface PutFile extends PutBack {
  /** Where the transcript is, or would be. */
  readonly path: string
  /** Path of its copy below `vault/`. */
  readonly copy: string
  /** The subagent's id; undefined for the session itself. */
  readonly agent: string | undefined
}

export interface Resurrected {
  readonly session: string
  readonly files: readonly PutFile[]
  /** How to go on with it; empty with `to`, and where no file is in its place. */
  readonly resume: readonly Resume[]
}

export interface Resume {
  /** Folder to start the host in; undefined when the transcript does not say. */
  readonly folder: string | undefined
  /** The host's configuration folder, where it is not the one it would take by itself. */
  readonly configDir: string | undefined
}

export interface ResurrectOptions extends PutOptions {
  readonly dataHome: string
  readonly home: string
  /** The host's configuration folder. */
  readonly claudeDir: string
  /** Absolute path of the folder to write below, in place of the host's. */
  readonly to: string | undefined
  /** Former versions of rewritten transcripts, too. */
  readonly all: boolean
  readonly onProgress?: (done: number, total: number) => void
}

/** Fewer letters than this are a slip rather than a name. */
const SHORTEST = 4

/**
 * The sessions that words name, whole or by their beginning, each once.
 *
 * @throws CtxError exit 3 for a word that names none, exit 64 for one that is too short or names several
 */
export function sessionsInVault(dataHome: string, words: readonly string[]): string[] {
  const known = new Set(hostsCopies(dataHome).map(({ session }) => ownerOf(session)))
  const named = words.map((word) => {
    if (word.length < SHORTEST) {
      throw usageError(`${JSON.stringify(word)} is too short`, `at least ${SHORTEST} letters of a session`)
    }
    if (known.has(word)) return word
    const found = [...known].filter((id) => id.startsWith(word))
    if (found.length === 1) return found[0]!
    if (found.length > 1) throw usageError(`${word} names ${found.length} sessions`, "type more of it")
    throw new CtxError("not-found", `no session ${word} in the vault`, {
      hint: "ctxbridge sessions --all-projects lists them; a handle (ctx:…) names a turn, and so its session",
      exit: EXIT.notFound,
    })
  })
  return [...new Set(named)]
}

const ownerOf = (session: string): string => session.split("/")[0]!

/** What another tool has kept was never a transcript that the host could resume. */
const hostsCopies = (dataHome: string): Source[] =>
  sources(dataHome).filter(({ copy }) => !isImportedCopy(copy))

export function resurrect(ids: readonly string[], options: ResurrectOptions): Resurrected[] {
  const all = hostsCopies(options.dataHome)
  const wanted = ids.map((id) => ({ id, copies: versionsOf(id, all, options) }))
  const total = wanted.reduce(
    (sum, { copies }) => sum + copies.reduce((size, { bytes }) => size + bytes, 0),
    0,
  )
  let done = 0
  return wanted.map(({ id, copies }) => {
    const files = copies.map((source): PutFile => {
      const file = putOne(source, options)
      done += source.bytes
      options.onProgress?.(done, total)
      return file
    })
    const resume = options.to === undefined ? resumesOf(files, options) : []
    return { session: id, files, resume }
  })
}

/** The newest copy of each of the session's transcripts; with `all`, the former ones before it. */
function versionsOf(
  id: string,
  known: readonly Source[],
  { all, to }: Pick<ResurrectOptions, "all" | "to">,
): Source[] {
  const byTranscript = new Map<string, Source[]>()
  const own = known.filter(({ session }) => ownerOf(session) === id)
  const placed = own.filter(({ copy }) => !isLooseCopy(copy))
  // What was imported from a backup need not be written there again.
  for (const source of to === undefined && placed.length > 0 ? placed : own) {
    const name = withoutVersion(source.copy)
    byTranscript.set(name, [...(byTranscript.get(name) ?? []), source])
  }
  // The oldest comes first, and the one that is not set aside last.
  return [...byTranscript.values()].flatMap((versions) => (all ? versions : versions.slice(-1)))
}

function putOne(source: Source, options: ResurrectOptions): PutFile {
  const { copy, session } = source
  const agent = session.includes("/") ? session.slice(session.indexOf("/") + 1) : undefined
  const path = placeOf(source, options)
  if (path === undefined) {
    const error = "the copy does not say where its transcript was; --to names a folder for it"
    return { path: source.path, copy, agent, state: "failed", bytes: 0, aside: undefined, error }
  }
  return { path, copy, agent, ...putBack(vaultFile(options.dataHome, copy), path, options) }
}

/**
 * The home folder may have moved, so what stands under `home/` belongs below the present one. Anything else goes where
 * its header says, as long as that is a transcript's path.
 */
function placeOf({ copy, path }: Source, { home, to, all }: ResurrectOptions): string | undefined {
  const slash = copy.indexOf("/")
  const below = copy.slice(slash + 1).replace(/\.zst$/, "")
  const name = all ? below : below.replace(/\.~\d+(?=(\.jsonl)?$)/, "")
  if (to !== undefined) return join(to, name)
  if (copy.slice(0, slash) === "home") return join(home, ".claude", "projects", name)
  return isAbsolute(path) && path.endsWith(".jsonl") && normalize(path) === path ? path : undefined
}

/** Once for each folder in which the session was at work: the host looks for it there only. */
function resumesOf(files: readonly PutFile[], { dataHome, claudeDir }: ResurrectOptions): Resume[] {
  return files
    .filter(({ agent, copy }) => agent === undefined && !isLooseCopy(copy))
    .filter(({ state }) => state !== "failed" && state !== "differs")
    .map(({ path, copy }) => {
      const projects = dirname(dirname(path))
      const configDir = projects === join(claudeDir, "projects") ? undefined : dirname(projects)
      return { folder: folderOfSession(vaultFile(dataHome, copy), path), configDir }
    })
}
