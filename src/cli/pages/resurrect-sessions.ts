/**
 * Writes sessions back to where Claude Code expects them, so that it can resume what it has deleted; other agents'
 * sessions by `./resurrect-agents.ts`. Reads only the vault, so it works without a database.
 */
import { existsSync } from "node:fs"
import { UNMARKED } from "../../agents/agents.ts"
import { namesInPath, placeBeside } from "../../agents/layouts.ts"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { parseJson } from "../../base/json-files.ts"
import { dirname, isAbsolute, join, normalize } from "../../base/path.ts"
import { isPlainId, sessionIdOf } from "../../base/session-id.ts"
import { configFolder, projectSlug, transcriptsFolder } from "../../claude/places.ts"
import {
  isAgentsCopy,
  isBesideCopy,
  isFetchedCopy,
  isHistoryCopy,
  isImportedCopy,
  isLooseCopy,
  isSummaryCopy,
  originalPlace,
  vaultFile,
  withoutVersion,
  withSessionId,
} from "../../vault/layout.ts"
import { CopyReader } from "../../vault/reader.ts"
import { sameButForFiller } from "../../vault/source-file.ts"
import { copyNames } from "../../vault/vault-files.ts"
import { folderNow } from "../../views/joined-projects.ts"
import { recordsFrom } from "../../views/records.ts"
import { type Source, sessionsInNames, sources, sourcesOf } from "../../views/view-sources.ts"
import {
  type OtherVersion,
  type PutFile,
  type PutOptions,
  putBack,
  type Resume,
  type Resurrected,
  type ResurrectOptions,
} from "./put-back-transcript.ts"
import { resurrectAgents } from "./resurrect-agents.ts"

/** A shorter word is probably a mistake. */
const SHORTEST = 4

/**
 * Sessions named by whole ids or beginnings of ids, without duplicates.
 *
 * @throws CtxError exit 3 for a word that names no session, exit 64 for one that is too short or ambiguous
 */
export function sessionsInVault(dataHome: string, words: readonly string[]): string[] {
  const known = knownSessions(dataHome, words)
  const idOf = (word: string): string => (known.has(sessionIdOf(word)) ? sessionIdOf(word) : word)
  const named = words.map(idOf).map((word) => {
    if (word.length < SHORTEST) {
      throw usageError(`${JSON.stringify(word)} is too short`, `at least ${SHORTEST} letters of a session`)
    }
    if (known.has(word)) return word
    const found = [...known].filter((id) => id.startsWith(word))
    if (found.length === 1) return found[0]!
    if (found.length > 1) throw usageError(`${word} names ${found.length} sessions`, "type more of it")
    refusePromptsOnly(dataHome, word)
    throw new CtxError("not-found", `no session ${word} in the vault`, {
      hint: "ctxbridge sessions --all-projects lists them; a handle (ctx:…) names a turn, and so its session",
      exit: EXIT.notFound,
    })
  })
  return [...new Set(named)]
}

/** @throws CtxError exit 3 if the word names a session whose transcript was deleted before it was archived */
function refusePromptsOnly(dataHome: string, word: string): void {
  for (const copy of copyNames(dataHome)) {
    if (!isHistoryCopy(copy)) continue
    for (const { record } of recordsFrom(vaultFile(dataHome, copy)))
      if (record.sessionId?.startsWith(word)) throw promptsOnly(record.sessionId)
  }
}

/** Why a session cannot be resumed. */
export const promptsOnly = (session: string): CtxError =>
  new CtxError(
    "prompts-only",
    `only the prompts of session ${session} are archived: its transcript was deleted before`,
    {
      hint: `ctxbridge show ${session} prints them`,
      exit: EXIT.notFound,
    },
  )

/** By the copies' names; where these do not tell, by what is in them, which takes a hundred times as long. */
function knownSessions(dataHome: string, words: readonly string[]): ReadonlySet<string> {
  const named = sessionsInNames(dataHome, (copy) => isClaudes(copy) || isAgentsCopy(copy))
  const all = [...named]
  const isTold = words.every((word) => named.has(sessionIdOf(word)) || all.some((id) => id.startsWith(word)))
  if (isTold) return named
  const read = claudeCopies(dataHome).map(({ session }) => ownerOf(session))
  return new Set([...sessionsInNames(dataHome, isAgentsCopy), ...read])
}

const ownerOf = (session: string): string => session.split("/")[0]!

/** Leaves out imports from other tools, which Claude Code could never resume, and what a model wrote about sessions. */
const claudeCopies = (dataHome: string, ids?: ReadonlySet<string>): Source[] =>
  (ids === undefined ? sources(dataHome) : sourcesOf(dataHome, (id) => ids.has(id))).filter(({ copy }) =>
    isClaudes(copy),
  )

const isClaudes = (copy: string): boolean =>
  !(isImportedCopy(copy) || isSummaryCopy(copy) || isHistoryCopy(copy) || isAgentsCopy(copy))

export function resurrect(ids: readonly string[], options: ResurrectOptions): Resurrected[] {
  const agents = sessionsInNames(options.dataHome, isAgentsCopy)
  const known = claudeCopies(options.dataHome, new Set(ids))
  const wanted = ids.map((id) => ({ id, own: copiesOf(id, known, options) }))
  const total = wanted.reduce((sum, { own }) => sum + own.reduce((size, { bytes }) => size + bytes, 0), 0)
  let done = 0
  return wanted.map(({ id, own }) => {
    if (agents.has(id)) return resurrectAgents(id, options)
    const all = byTranscript(own).map((versions) => ranked(options.dataHome, versions))
    const transcripts = all.filter(([first]) => first !== undefined && !isBesideCopy(first.copy))
    const spot = options.to === undefined ? spotOf(id, transcripts, options) : undefined
    const unstartable = reasonNot(id, transcripts)
    if (options.toStart && unstartable !== undefined)
      return { session: id, program: UNMARKED, files: [], others: [], resume: [], unstartable }
    const files = all.flatMap((versions) => {
      const put =
        spot === undefined && options.all
          ? versions.toSorted(inOrder(own)).map((one) => putOne([one], spot, options))
          : [putOne(versions, spot, options)]
      done += versions.reduce((size, { bytes }) => size + bytes, 0)
      options.onProgress?.(done, total)
      return put
    })
    const others = transcripts
      .filter(([first]) => first?.session === id)
      .flatMap((versions) => othersThan(options.dataHome, versions, files))
    const isWanted = spot !== undefined && unstartable === undefined
    return {
      session: id,
      program: UNMARKED,
      files,
      others,
      resume: isWanted ? resumesOf(files, spot, options) : [],
      unstartable,
    }
  })
}

/** A session's copies; one that somebody has imported from a backup is left out if it need not go back there. */
function copiesOf(id: string, known: readonly Source[], { to }: Pick<ResurrectOptions, "to">): Source[] {
  const own = known.filter(({ session }) => ownerOf(session) === id)
  const isPlaced = own.some(({ copy }) => !isLooseCopy(copy))
  return own.filter(
    ({ copy, session }) => to !== undefined || !isPlaced || !isLooseCopy(copy) || session === id,
  )
}

/**
 * The session's own transcript first, then those of its subagents, then the files beside them; each with all of its
 * copies, oldest first.
 */
function byTranscript(own: readonly Source[]): Source[][] {
  const found = new Map<string, Source[]>()
  for (const source of own) {
    const beside = isBesideCopy(source.copy) ? `/beside/${placeBeside(source.path)?.name}` : ""
    const key = beside === "" ? source.session : ownerOf(source.session) + beside
    found.set(key, [...(found.get(key) ?? []), source])
  }
  const order = ([key]: [string, unknown]): number =>
    key.includes("/beside/") ? 2 : Number(key.includes("/"))
  return [...found].toSorted((a, b) => order(a) - order(b)).map(([, versions]) => versions)
}

const inOrder =
  (own: readonly Source[]) =>
  (a: Version, b: Version): number =>
    own.findIndex(({ copy }) => copy === a.copy) - own.findIndex(({ copy }) => copy === b.copy)

/** What is in a copy: its records, and the folders that it names, with the key that names each first. */
interface Held {
  readonly bytes: number
  readonly uuids: ReadonlySet<string>
  readonly folders: ReadonlyMap<string, string>
  readonly isDamaged: boolean
}

interface Version extends Source {
  readonly held: Held
}

/**
 * The fullest version first. A session that moved to a worktree has a copy in each folder, one that was truncated has
 * its former content beside; Claude Code would go on from either. Another machine's versions come last, since others
 * may have written them.
 */
function ranked(dataHome: string, versions: readonly Source[]): Version[] {
  const read = versions.map((source) => ({ ...source, held: heldBy(vaultFile(dataHome, source.copy)) }))
  const number = new Map(read.map((one, n) => [one, n]))
  return read.toSorted(
    (a, b) =>
      Number(isFetchedCopy(a.copy)) - Number(isFetchedCopy(b.copy)) ||
      Number(a.held.isDamaged) - Number(b.held.isDamaged) ||
      b.held.uuids.size - a.held.uuids.size ||
      (goesOn(dataHome, a, b) ? b.held.bytes - a.held.bytes : number.get(b)! - number.get(a)!),
  )
}

/** What is not written of a session's transcript. Of other machines' versions, those that have something more. */
function othersThan(
  dataHome: string,
  versions: readonly Version[],
  files: readonly PutFile[],
): OtherVersion[] {
  const isWritten = ({ copy }: Version): boolean => files.some((file) => file.copy === copy)
  const written = versions.find(isWritten)
  if (written === undefined) return []
  const { held } = written
  const says = (one: Version): boolean =>
    isFetchedCopy(one.copy)
      ? [...one.held.uuids].some((uuid) => !held.uuids.has(uuid))
      : one.held.bytes !== held.bytes || !goesOn(dataHome, one, written)
  return versions
    .filter((one) => !isWritten(one) && one.held.bytes > 0 && says(one))
    .map(({ path, copy, held: { bytes, uuids } }) => {
      return { path, copy, bytes, records: uuids.size, isFuller: uuids.size > held.uuids.size }
    })
}

/** Whether one of the two begins with the other. */
function goesOn(dataHome: string, a: Version, b: Version): boolean {
  const [one, other] = [a, b].map(({ copy }) => new CopyReader(vaultFile(dataHome, copy))) as [
    CopyReader,
    CopyReader,
  ]
  try {
    const both = Math.min(one.size, other.size)
    for (let at = 0; at < both; at += BLOCK) {
      const end = Math.min(both, at + BLOCK)
      const [left, right] = [one.read(at, end), other.read(at, end)]
      if (sameButForFiller(left, right) !== undefined && sameButForFiller(right, left) !== undefined)
        return false
    }
    return true
  } catch {
    // One of them is damaged.
    return false
  } finally {
    one.close()
    other.close()
  }
}

const BLOCK = 1 << 20

const UUID = /"uuid"\s*:\s*"([^"\\]{1,100})"/g
const FOLDER = /"(cwd|relocatedCwd|originalCwd|worktreePath)"\s*:\s*("(?:[^"\\]|\\.)*")/g

function heldBy(copy: string): Held {
  const uuids = new Set<string>()
  const folders = new Map<string, string>()
  let bytes = 0
  let isDamaged = false
  try {
    const reader = new CopyReader(copy)
    bytes = reader.size
    try {
      for (const piece of reader.pieces()) {
        const text = Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString("utf8")
        for (const [, uuid] of text.matchAll(UUID)) uuids.add(uuid!)
        for (const [, key, quoted] of text.matchAll(FOLDER)) {
          const folder = parseJson(quoted!) as string | undefined
          if (folder !== undefined && !folders.has(folder)) folders.set(folder, key!)
        }
      }
    } finally {
      reader.close()
    }
  } catch {
    // Whoever writes it back says what is wrong.
    isDamaged = true
  }
  return { bytes, uuids, folders, isDamaged }
}

/** Where Claude Code looks for a session: below the folder of its transcripts, by the folder in which it is started. */
interface Spot {
  /** Folder of all transcripts. */
  readonly projects: string
  readonly slug: string
  readonly folder: string | undefined
}

/**
 * The folder of the fullest version; if Claude Code cannot be started there any more, that of another version, or the
 * repository that the worktree belonged to.
 *
 * @returns undefined if all of the session was imported from outside Claude Code's folders
 */
function spotOf(id: string, transcripts: readonly Version[][], options: ResurrectOptions): Spot | undefined {
  const main = transcripts.find(([first]) => first?.session === id) ?? []
  const folders = new Map(main.flatMap(({ held }) => [...held.folders]))
  const spots = (main.length > 0 ? main : transcripts.flat()).flatMap((one): Spot[] => {
    const path = isLooseCopy(one.copy) ? undefined : placeOf(one, options)
    const at = path === undefined ? undefined : placeBelow(path)
    if (at === undefined) return []
    const named = [...folders.keys()].filter((folder) => isSlugOf(at.slug, folder))
    return [
      { projects: at.projects, slug: at.slug, folder: named.find((one) => existsSync(one)) ?? named[0] },
    ]
  })
  const [fullest] = spots
  const there = spots.find(({ folder }) => folder !== undefined && existsSync(folder))
  if (fullest === undefined || there !== undefined) return there
  const origins = [
    // Its project was moved.
    ...[...folders.keys()].flatMap((folder) => folderNow(options.dataHome, folder) ?? []),
    ...[...folders].flatMap(([folder, key]) => (key === "originalCwd" ? [folder] : [])),
    ...[...folders.keys()].flatMap((folder) => /^(.+)\/\.claude\/worktrees\//.exec(folder)?.[1] ?? []),
    options.folderOf?.(id),
    // The transcript's folder is named after none of those it mentions.
    fullest.folder === undefined ? folders.keys().next().value : undefined,
  ]
  const folder = origins.find(
    (one) => one !== undefined && projectSlug(one).length <= SLUG && existsSync(one),
  )
  if (folder !== undefined) return { projects: fullest.projects, slug: projectSlug(folder), folder }
  return { ...fullest, folder: fullest.folder ?? folders.keys().next().value }
}

/** Claude Code cuts longer ones, and adds a hash. */
const SLUG = 200

function isSlugOf(slug: string, folder: string): boolean {
  const whole = projectSlug(folder)
  return whole === slug || (whole.length > SLUG && slug.startsWith(whole.slice(0, SLUG)))
}

const PROJECTS = "/projects/"

/** The parts of a transcript's path in Claude Code's folders. */
function placeBelow(path: string): { projects: string; slug: string; rest: string } | undefined {
  const at = path.lastIndexOf(PROJECTS)
  const below = path.slice(at + PROJECTS.length)
  const slash = below.indexOf("/")
  if (at < 0 || slash <= 0) return undefined
  return {
    projects: path.slice(0, at + PROJECTS.length - 1),
    slug: below.slice(0, slash),
    rest: below.slice(slash + 1),
  }
}

/**
 * Puts the fullest version in place. What Claude Code has there and the vault, too, stays, unless it is only the
 * beginning of that version or the user says otherwise: it may be at work there.
 *
 * @param versions the fullest first
 */
function putOne(versions: readonly Version[], spot: Spot | undefined, options: ResurrectOptions): PutFile {
  const [fullest, ...others] = versions as [Version, ...Version[]]
  const { session } = fullest
  const agent = session.includes("/") ? session.slice(session.indexOf("/") + 1) : undefined
  const isBeside = isBesideCopy(fullest.copy)
  const path = targetOf(versions, spot, options)
  if (path === undefined) {
    const error = "the copy does not say where its transcript was; --to names a folder for it"
    const none = { state: "failed", bytes: 0, aside: undefined, error } as const
    return { path: fullest.path, copy: fullest.copy, agent, isBeside, ...none }
  }
  const put = (one: Version, opts: PutOptions): PutFile => ({
    path,
    copy: one.copy,
    agent,
    isBeside,
    ...putBack(vaultFile(options.dataHome, one.copy), path, opts),
  })
  const first = put(fullest, { ...options, force: options.force && others.length === 0 })
  if (first.state !== "differs" || others.length === 0) return first
  if (options.force) return put(fullest, options)
  for (const other of others) {
    const found = put(other, { force: false, dryRun: true })
    if (found.state === "present" || found.state === "longer") return found
  }
  return first
}

/** Whatever is in the vault, only an id of Claude Code's own kind becomes a word of a command. */
function reasonNot(id: string, transcripts: readonly Version[][]): string | undefined {
  const main = transcripts.find(([first]) => first?.session === id)?.[0]
  const name = main === undefined ? id : (namesInPath(main.path).session ?? id)
  if (name === id && isPlainId(id)) return undefined
  return `its transcript is named ${JSON.stringify(name)}, which is no session that Claude Code could have begun`
}

/** Where a transcript goes: its place below the spot, whichever folder the version comes from. */
function targetOf(
  versions: readonly Version[],
  spot: Spot | undefined,
  options: ResurrectOptions,
): string | undefined {
  const placed = versions.filter(({ copy }) => !isLooseCopy(copy))
  const path = placeOf((placed.length > 0 ? placed : versions)[0]!, options)
  const at = path === undefined ? undefined : placeBelow(path)
  return spot === undefined || at === undefined ? path : join(spot.projects, spot.slug, at.rest)
}

/**
 * The home folder may have moved, so anything under `home/` belongs below the current one. Everything else goes to the
 * path in its header, provided that it is a transcript's path.
 */
function placeOf(source: Source, { home, to, all }: ResurrectOptions): string | undefined {
  const { path } = source
  const copy = originalPlace(source.copy)
  const slash = copy.indexOf("/")
  const name = (all ? copy.replace(/\.zst$/, "") : withoutVersion(copy).replace(/\.zst$/, "")).slice(
    slash + 1,
  )
  if (to !== undefined) return join(to, name)
  if (copy.slice(0, slash) === "home")
    return join(transcriptsFolder(configFolder(home)), originalName(path, name))
  const isKnown = path.endsWith(".jsonl") || isBesideCopy(source.copy)
  return isAbsolute(path) && isKnown && normalize(path) === path ? path : undefined
}

/** The name that a transcript had before it was archived under its session's id (`withSessionId`). */
function originalName(path: string, name: string): string {
  const at = placeBelow(path)
  const below = at === undefined || normalize(path) !== path ? name : `${at.slug}/${at.rest}`
  return withSessionId(below) === name ? below : name
}

/** Where to start Claude Code, unless the session's own transcript is not in place. */
function resumesOf(files: readonly PutFile[], spot: Spot, { claudeDir }: ResurrectOptions): Resume[] {
  const isPlaced = ({ agent, isBeside, state }: PutFile): boolean =>
    agent === undefined && !isBeside && state !== "failed" && state !== "differs"
  if (!files.some(isPlaced)) return []
  const { projects, folder } = spot
  const configDir = projects === transcriptsFolder(claudeDir) ? undefined : dirname(projects)
  return [{ folder, gone: folder !== undefined && !existsSync(folder), configDir }]
}
