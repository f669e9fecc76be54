/**
 * What holds at every target, whatever keeps the entries: which of them are to be stored, which are refused, which are
 * missing, and what a query finds. Which of two versions of a turn counts is said in entry.ts. Pure.
 */
import { wordSet } from "../../base/words.ts"
import {
  type Entry,
  type EntryMetadata,
  isBehind,
  isLater,
  isOfSession,
  type Version,
  versionOf,
} from "./entry.ts"
import type { EntriesWanted, EntryQuery, Forgetting, FoundEntry, PutReport, SentVersion } from "./target.ts"

/** What all writers have forgotten. */
export interface ForgottenThere {
  readonly ids: ReadonlySet<string>
  readonly sessions: ReadonlySet<string>
}

/** Whether it is refused: by its id, or by its session or the one that this is a subagent of. */
export function isForgottenThere(
  { id, session }: Pick<SentVersion, "id" | "session">,
  { ids, sessions }: ForgottenThere,
): boolean {
  return ids.has(id) || isForgottenSession(session, sessions)
}

/** As `isOfSession` of any of these, of which there may be very many. */
export function isForgottenSession(session: string, owners: ReadonlySet<string>): boolean {
  if (owners.size === 0) return false
  for (let end = session.indexOf("/"); end >= 0; end = session.indexOf("/", end + 1))
    if (owners.has(session.slice(0, end))) return true
  return owners.has(session)
}

/** What of this is not forgotten there yet. */
export const newlyForgotten = (
  { ids = [], sessions = [] }: Forgetting,
  known: ForgottenThere,
): { readonly ids: readonly string[]; readonly sessions: readonly string[] } => ({
  ids: ids.filter((id) => !known.ids.has(id)),
  sessions: sessions.filter((session) => !known.sessions.has(session)),
})

/** A version of a turn that is there. */
export interface VersionThere extends Version {
  readonly session: string
}

export const versionThere = (entry: Entry): VersionThere => ({
  ...versionOf(entry),
  session: entry.metadata.sessionId,
})

/** What is known of a turn there, by its key; undefined or null: nothing. */
type KnownThere<V> = (key: string) => V | undefined | null

/** The latest version of each turn, by its key, whoever brought which first. */
export class LatestVersions extends Map<string, VersionThere> {
  /** Takes an entry, unless what is there is as late. */
  offer(entry: Entry): void {
    const version = versionThere(entry)
    if (takesPlace(version, this.get(entry.key))) this.set(entry.key, version)
  }
}

const takesPlace = (version: Version, there: Version | undefined | null): boolean =>
  there === undefined || there === null || isLater(version, there)

/**
 * Sorts what is to be put: at most one version of a turn is stored, and none that is there in a later one, or forgotten.
 *
 * @returns what is to be stored, in the order in which the turns came, and what to tell of all
 */
export function sift(
  entries: readonly Entry[],
  there: KnownThere<Version>,
  forgotten: ForgottenThere,
): { readonly fresh: readonly Entry[]; readonly report: PutReport } {
  const fresh = new Map<string, Entry>()
  let refused = 0
  for (const entry of entries) {
    const version = versionThere(entry)
    const before = fresh.get(entry.key)
    if (isForgottenThere(version, forgotten)) refused++
    else if (takesPlace(version, before === undefined ? there(entry.key) : versionOf(before)))
      fresh.set(entry.key, entry)
  }
  return { fresh: [...fresh.values()], report: putReport(entries.length, fresh.size, refused) }
}

/** @param given number of what was given to be put */
export const putReport = (given: number, stored: number, refused: number): PutReport => ({
  stored,
  known: given - stored - refused,
  refused,
})

/** What of this was sent and is missing, or there in an earlier version only, though nobody has forgotten it. */
export const missing = <T extends SentVersion>(
  sent: Iterable<T>,
  there: KnownThere<Omit<Version, "hasVector">>,
  forgotten: ForgottenThere,
): T[] =>
  [...sent].filter((one) => isBehind(there(one.key) ?? undefined, one) && !isForgottenThere(one, forgotten))

/** What there is of some sessions, or of all. */
export const sentOf = (
  there: Iterable<readonly [key: string, VersionThere]>,
  sessions: readonly string[] | undefined,
): SentVersion[] =>
  [...there]
    .filter(([, { session }]) => sessions?.some((owner) => isOfSession(session, owner)) ?? true)
    .map(([key, { id, session, messages }]) => ({ key, id, session, messages }))

/** Digits of an id that name an entry. */
const LEAST_DIGITS = 16

/** Whether `id` is what `get` is asked for. */
export const isNamed = (id: string, wanted: string): boolean =>
  wanted.length >= LEAST_DIGITS && id.startsWith(wanted)

function filterFor(wanted: EntriesWanted): (metadata: EntryMetadata) => boolean {
  const { session, project, projectName, since, until, tool, file } = wanted
  const path = file === undefined ? undefined : new RegExp(pathPattern(file))
  const toolName = tool === undefined ? undefined : plainTool(tool)
  return (one) => {
    if (session !== undefined && !isOfSession(one.sessionId, session)) return false
    if (project !== undefined && one.project !== project) return false
    if (projectName !== undefined && projectNameOf(one.project) !== projectName) return false
    const last = one.ended ?? one.timestamp
    if (since !== undefined && (last === null || last < since)) return false
    if (until !== undefined && (one.timestamp === null || one.timestamp >= until)) return false
    if (toolName !== undefined && !one.toolNames.some((name) => plainTool(name) === toolName)) return false
    return path === undefined || one.filePaths.some((name) => path.test(name))
  }
}

/** The last part of the path of a project's folder; of a repository, the project's path is that of its `.git`. */
const projectNameOf = (project: string | null): string | undefined =>
  project?.replace(/[/\\]\.git$/, "").match(/[^/\\]+$/)?.[0]

/** Letters and digits of a tool's name, as the archive's own index has it. */
export const plainTool = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

/**
 * A regular expression, for JavaScript and for PostgreSQL, for the paths that `file` names: the path, the end of a path,
 * or with `*`, `?` or a slash at the end a pattern, whose `*` also crosses folders.
 */
export function pathPattern(file: string): string {
  const bare = file.replaceAll("\\", "/").replace(/^(\.?\/)+/, "")
  const text = bare.endsWith("/") ? `${bare}*` : bare
  const escaped = text
    .replace(/[.+^${}()|[\]]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".")
  return `^(?:.*/)?${escaped}$`
}

/** The best first. Holds no more than twice as many as are wanted, since each may come with a long content. */
export function bestEntries(entries: Iterable<Entry>, query: EntryQuery): FoundEntry[] {
  const passes = filterFor(query)
  const rate = raterOf(query)
  const { limit, withContent } = query
  let found: FoundEntry[] = []
  for (const entry of entries) {
    const { id, key, summary, content, metadata } = entry
    const score = passes(metadata) ? rate(entry) : undefined
    if (score === undefined) continue
    found.push({ id, key, summary, metadata, score, ...(withContent && { content }) })
    if (found.length > 2 * limit) found = found.sort(byScore).slice(0, limit)
  }
  return found.sort(byScore).slice(0, limit)
}

/** Gives an entry's score; undefined if it is not wanted. */
function raterOf(query: EntryQuery): (entry: Entry) => number | undefined {
  if ("words" in query) {
    const wanted = [...wordSet(query.words)]
    if (wanted.length === 0) return () => 0
    const needles = needlesOf(wanted)
    return ({ content, summary }) => {
      const isThere = (needle: RegExp): boolean => needle.test(content)
      const mayHave = query.isAny ? needles.some(isThere) || needles.length === 0 : needles.every(isThere)
      if (!mayHave && !OTHER_LETTERS.test(content)) return undefined
      const words = wordSet(content)
      const has = wanted.reduce((sum, word) => sum + Number(words.has(word)), 0)
      if (has < (query.isAny ? 1 : wanted.length)) return undefined
      const prominent = wordSet(summary)
      // What the summary says is what the turn is about; in a long text, a word is found by chance.
      const said = wanted.filter((word) => prominent.has(word)).length + 1 / Math.log2(2 + words.size)
      return query.isAny ? has + said / (2 + wanted.length) : said
    }
  }
  const { embedder, values } = query.vector
  return ({ vector }) =>
    vector?.embedder === embedder && vector.values.length === values.length
      ? values.reduce((sum, value, n) => sum + value * vector.values[n]!, 0)
      : undefined
}

/** With an accent, a word is written otherwise than it is found. */
const OTHER_LETTERS = /[^\P{L}A-Za-z]|\p{M}/u

/**
 * Patterns that occur in every text of plain letters that has the words: much cheaper than to split all texts into words.
 * Not of compound names, whose parts need not stand together.
 */
const needlesOf = (wanted: readonly string[]): RegExp[] =>
  wanted
    .filter((word) => /^[a-z0-9]+$/.test(word))
    .filter((word) => !wanted.some((part) => part !== word && word.startsWith(part.slice(0, -1))))
    // The stemmer may have turned a final `y` into `i`.
    .map((word) => new RegExp(word.replace(/i$/, "[iy]"), "i"))

/** Equal scores: the newest first. */
const byScore = (a: FoundEntry, b: FoundEntry): number =>
  b.score - a.score ||
  (b.metadata.timestamp ?? "").localeCompare(a.metadata.timestamp ?? "") ||
  (a.id < b.id ? -1 : 1)
