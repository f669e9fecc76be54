/**
 * Writes other agents' sessions back to where these look for them, if they read sessions from files. Reads only the
 * vault, so it works without a database.
 */
import { existsSync } from "node:fs"
import { AGENTS, agentTitle, commandLineOf, typedCommand } from "../../agents/agents.ts"
import { copyPlace } from "../../agents/layouts.ts"
import { basename, isAbsolute, join, normalize } from "../../base/path.ts"
import { isPlainId } from "../../base/session-id.ts"
import {
  isAgentsCopy,
  isFetchedCopy,
  isSuperseded,
  originalPlace,
  vaultFile,
  withoutVersion,
} from "../../vault/layout.ts"
import { archivedIn } from "../../vault/reader.ts"
import { folderNow } from "../../views/joined-projects.ts"
import { recordsFrom } from "../../views/records.ts"
import { type Source, sourcesOf } from "../../views/view-sources.ts"
import {
  type PutFile,
  putBack,
  type Resume,
  type Resurrected,
  type ResurrectOptions,
} from "./put-back-transcript.ts"

/** @param id of a session with a copy of its own in the vault */
export function resurrectAgents(id: string, options: ResurrectOptions): Resurrected {
  const copies = sourcesOf(options.dataHome, (session) => session === id)
    .filter(({ copy }) => isAgentsCopy(copy))
    .toSorted((a, b) => Number(a.session !== id) - Number(b.session !== id) || rank(a) - rank(b))
  // There is one, or it would have no name.
  const [latest] = copies as [Source, ...Source[]]
  const program = originalPlace(latest.copy).split("/", 1)[0]!
  const told = { session: id, program, others: [] }
  if (options.to !== undefined) {
    // Those of its subagents, too, where these belong to their session.
    const isLatest = (one: Source, n: number): boolean =>
      copies.findIndex(({ session }) => session === one.session) === n
    const wanted = options.all ? copies : copies.filter(isLatest)
    return { ...told, files: wanted.map((one) => putInto(one, options)), resume: [], unstartable: undefined }
  }
  const spot = spotOf(latest, options)
  const unstartable = reasonNot(id, program, spot)
  if (options.toStart && unstartable !== undefined) return { ...told, files: [], resume: [], unstartable }
  if (spot === undefined) {
    // Nothing has to be written back for it to be resumed, as far as anybody knows here.
    const files = options.toStart ? [] : [withoutPlace(latest, program)]
    return {
      ...told,
      files,
      resume: options.toStart ? [resumeOf(latest, undefined, options)] : [],
      unstartable,
    }
  }
  const file = spot.isPacked ? asPacked(latest, spot, options) : putAt(latest, spot.path, options)
  const isPlaced = unstartable === undefined && file.state !== "failed" && file.state !== "differs"
  return { ...told, files: [file], resume: isPlaced ? [resumeOf(latest, spot, options)] : [], unstartable }
}

/** The last one written here comes first, then other machines', which others may have written. */
const rank = ({ copy }: Source): number => (isFetchedCopy(copy) ? 2 : 0) + (isSuperseded(copy) ? 1 : 0)

const PACKED = ".zst"

interface Spot {
  /** The agent's own folder. */
  readonly folder: string
  /** Absolute path of the transcript. */
  readonly path: string
  readonly isAside: boolean
  /** Whether the agent has compressed it. */
  readonly isPacked: boolean
}

/** Where it is now; if it is gone, where the agent looks for it. The home folder may have moved since. */
function spotOf({ copy, path }: Source, { home }: ResurrectOptions): Spot | undefined {
  const place = copyPlace(path)
  const places = AGENTS.find(({ name }) => name === place?.top)?.placesOf?.(basename(path))
  if (places === undefined || place === undefined) return undefined
  const isUsual = originalPlace(copy).split("/")[1] === "home"
  const folder = isUsual ? join(home, place.usual) : place.root
  if (!isAbsolute(folder) || normalize(folder) !== folder) return undefined
  const [usual, aside] = [join(folder, places.usual), join(folder, places.aside)]
  const isThere = (one: string): boolean => existsSync(one) || existsSync(one + PACKED)
  const isAside = !isThere(usual) && isThere(aside)
  const found = isAside ? aside : usual
  const isPacked = !existsSync(found) && existsSync(found + PACKED)
  return { folder, path: found, isAside, isPacked }
}

function reasonNot(id: string, program: string, spot: Spot | undefined): string | undefined {
  const line = commandLineOf(program)
  if (line?.resume === undefined) return `${agentTitle(program)} continues no session by its id`
  // Whatever is in the vault, only an id becomes a word of a command.
  if (!isPlainId(id)) return `its id is none that ${agentTitle(program)} could have made`
  return spot?.isAside !== true || line.unarchive === undefined
    ? undefined
    : `it was put aside, and \`${typedCommand(line, line.unarchive(id))}\` brings it back`
}

const putInto = (one: Source, options: ResurrectOptions): PutFile => {
  const name = basename(options.all ? one.copy : withoutVersion(one.copy)).replace(/\.zst$/, "")
  return putAt(one, join(options.to!, name), options)
}

const putAt = ({ copy }: Source, path: string, options: ResurrectOptions): PutFile => ({
  path,
  copy,
  agent: undefined,
  isBeside: false,
  ...putBack(vaultFile(options.dataHome, copy), path, options),
})

/** What the agent has compressed is there, and is left alone. */
const asPacked = ({ copy }: Source, { path }: Spot, { dataHome }: ResurrectOptions): PutFile => ({
  ...{ path: path + PACKED, copy, agent: undefined, isBeside: false, state: "present" },
  ...{ bytes: archivedIn(vaultFile(dataHome, copy)), aside: undefined, error: undefined },
})

const withoutPlace = ({ path, copy }: Source, program: string): PutFile => ({
  ...{ path, copy, agent: undefined, isBeside: false, state: "failed", bytes: 0, aside: undefined },
  error: `${agentTitle(program)} takes no session back from a file; --to names a folder for it`,
})

function resumeOf(latest: Source, spot: Spot | undefined, options: ResurrectOptions): Resume {
  const named = folderIn(vaultFile(options.dataHome, latest.copy))
  const isHere = (one: string | undefined): boolean => one !== undefined && existsSync(one)
  const others = (): (string | undefined)[] => [
    named && folderNow(options.dataHome, named),
    options.folderOf?.(latest.session),
  ]
  const folder = isHere(named) ? named : (others().find(isHere) ?? named)
  const isUsual = AGENTS.some((agent) =>
    agent.transcripts(options).some((one) => spot !== undefined && one.startsWith(`${spot.folder}/`)),
  )
  return {
    folder,
    gone: !isHere(folder) && folder !== undefined,
    configDir: isUsual ? undefined : spot?.folder,
  }
}

/** The folder in which the session began. */
function folderIn(copy: string): string | undefined {
  try {
    for (const { record } of recordsFrom(copy)) if (record.cwd !== undefined) return record.cwd
  } catch {
    // Who writes it back says what is wrong.
  }
  return undefined
}
