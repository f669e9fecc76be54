/**
 * Writes sessions back to where the host expects them, so that it can resume what it has deleted. Reads only the vault,
 * so it works without a database.
 */
import { existsSync } from "node:fs"
import { configFolder, projectSlug, transcriptsFolder } from "../agents/claude-code/host-places.ts"
import { type Source, sessionsInNames, sources, sourcesOf } from "../archive/view-sources.ts"
import type { Paths } from "../config/load.ts"
import { CtxError, EXIT, usageError } from "../util/errors.ts"
import { parseJson } from "../util/parse-json.ts"
import { basename, dirname, isAbsolute, join, normalize } from "../util/path.ts"
import {
  isFetchedCopy,
  isImportedCopy,
  isLooseCopy,
  isSummaryCopy,
  originalPlace,
  vaultFile,
  withoutVersion,
} from "../vault/layout.ts"
import { CopyReader } from "../vault/reader.ts"
import { type PutBack, type PutOptions, putBack } from "./put-back-transcript.ts"

export interface PutFile extends PutBack {
  readonly path: string
  /** Path of its copy below `vault/`. */
  readonly copy: string
  /** The subagent's id; undefined for the session itself. */
  readonly agent: string | undefined
}

export interface Resurrected {
  readonly session: string
  readonly files: readonly PutFile[]
  /** How to resume it; empty with `to`, or if no file could be put in place. */
  readonly resume: readonly Resume[]
}

export interface Resume {
  /** Folder in which to start the host; undefined if the transcript does not name one. */
  readonly folder: string | undefined
  readonly gone: boolean
  /** The host's configuration folder, unless it is the default. */
  readonly configDir: string | undefined
}

interface ResurrectOptions extends PutOptions, Pick<Paths, "dataHome" | "home" | "claudeDir"> {
  /** Absolute path of the folder to write to instead of the host's. */
  readonly to: string | undefined
  /** Include former versions of rewritten transcripts. */
  readonly all: boolean
  readonly onProgress?: (done: number, total: number) => void
}

/** A shorter word is probably a mistake. */
const SHORTEST = 4

/**
 * Sessions named by whole ids or beginnings of ids, without duplicates.
 *
 * @throws CtxError exit 3 for a word that names no session, exit 64 for one that is too short or ambiguous
 */
export function sessionsInVault(dataHome: string, words: readonly string[]): string[] {
  const known = knownSessions(dataHome, words)
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

/** By the copies' names; where these do not tell, by what is in them, which takes a hundred times as long. */
function knownSessions(dataHome: string, words: readonly string[]): ReadonlySet<string> {
  const named = sessionsInNames(dataHome, isHosts)
  const all = [...named]
  const isTold = words.every((word) => named.has(word) || all.some((id) => id.startsWith(word)))
  return isTold ? named : new Set(hostsCopies(dataHome).map(({ session }) => ownerOf(session)))
}

const ownerOf = (session: string): string => session.split("/")[0]!

/** Leaves out imports from other tools, which the host could never resume, and what a model wrote about sessions. */
const hostsCopies = (dataHome: string, ids?: ReadonlySet<string>): Source[] =>
  (ids === undefined ? sources(dataHome) : sourcesOf(dataHome, (id) => ids.has(id))).filter(({ copy }) =>
    isHosts(copy),
  )

const isHosts = (copy: string): boolean => !isImportedCopy(copy) && !isSummaryCopy(copy)

export function resurrect(ids: readonly string[], options: ResurrectOptions): Resurrected[] {
  const all = hostsCopies(options.dataHome, new Set(ids))
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

/** The newest copy of each of the session's transcripts, preceded by the former ones with `all`. */
function versionsOf(
  id: string,
  known: readonly Source[],
  { all, to }: Pick<ResurrectOptions, "all" | "to">,
): Source[] {
  const byTranscript = new Map<string, Source[]>()
  const own = known.filter(({ session }) => ownerOf(session) === id)
  const placed = own.filter(({ copy }) => !isLooseCopy(copy))
  // A transcript imported from a backup need not be written back there.
  for (const source of to === undefined && placed.length > 0 ? placed : own) {
    const name = withoutVersion(originalPlace(source.copy))
    byTranscript.set(name, [...(byTranscript.get(name) ?? []), source])
  }
  // Oldest first; the copy that was never set aside comes last.
  return [...byTranscript.values()].flatMap((versions) => {
    const own = versions.filter(({ copy }) => !isFetchedCopy(copy))
    if (own.length > 0) return all ? own : own.slice(-1)
    // Other machines' versions of the same transcript: the one that got furthest.
    return versions.toSorted((a, b) => a.bytes - b.bytes).slice(-1)
  })
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
 * The home folder may have moved, so anything under `home/` belongs below the current one. Everything else goes to the
 * path in its header, provided that it is a transcript's path.
 */
function placeOf(source: Source, { home, to, all }: ResurrectOptions): string | undefined {
  const { path } = source
  const copy = originalPlace(source.copy)
  const slash = copy.indexOf("/")
  const below = copy.slice(slash + 1).replace(/\.zst$/, "")
  const name = all ? below : below.replace(/\.~\d+(?=(\.jsonl)?$)/, "")
  if (to !== undefined) return join(to, name)
  if (copy.slice(0, slash) === "home") return join(transcriptsFolder(configFolder(home)), name)
  return isAbsolute(path) && path.endsWith(".jsonl") && normalize(path) === path ? path : undefined
}

/** One entry for each folder in which the session was used, because the host only looks for it there. */
function resumesOf(files: readonly PutFile[], { dataHome, claudeDir }: ResurrectOptions): Resume[] {
  return files
    .filter(({ agent, copy }) => agent === undefined && !isLooseCopy(copy))
    .filter(({ state }) => state !== "failed" && state !== "differs")
    .map(({ path, copy }) => {
      const projects = dirname(dirname(path))
      const configDir = projects === transcriptsFolder(claudeDir) ? undefined : dirname(projects)
      const folder = folderOfSession(vaultFile(dataHome, copy), path)
      return { folder, gone: folder !== undefined && !existsSync(folder), configDir }
    })
}

const CWD = /"cwd"\s*:\s*("(?:[^"\\]|\\.)*")/g

/**
 * @param copy absolute path of the copy, which must be sound
 * @param path where the transcript is or was
 * @returns the folder after which the transcript's folder is named, or else the first folder mentioned; undefined if
 * there is none
 */
function folderOfSession(copy: string, path: string): string | undefined {
  const wanted = basename(dirname(path))
  let first: string | undefined
  const reader = new CopyReader(copy)
  try {
    for (const piece of reader.pieces()) {
      for (const [, quoted] of Buffer.from(piece).toString("utf8").matchAll(CWD)) {
        const folder = parseJson(quoted!) as string | undefined
        if (folder === undefined) continue
        if (projectSlug(folder) === wanted) return folder
        first ??= folder
      }
    }
    return first
  } finally {
    reader.close()
  }
}
