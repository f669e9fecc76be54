/**
 * Finds turns among the entries that are kept elsewhere. Nothing is made there, and a server that does not answer costs
 * no more than a deadline.
 */

import { CtxError, codeOf, isCtxError, messageOf, usageError } from "../base/errors.ts"
import { count, cut, oneLine } from "../base/text.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { filterText } from "../secrets/filter.ts"
import { type Entry, type EntryVector, isEntry, isPlainSession } from "../sync/targets/entry.ts"
import type { EntriesWanted, FoundEntry, Target } from "../sync/targets/target.ts"
import { readTombstone } from "../vault/tombstones.ts"
import type { Database } from "../views/database.ts"
import { shortNameOf } from "../views/project.ts"
import { handleOfTurn } from "../views/queries/turns.ts"
import type { Weighted } from "./candidates.ts"
import type { QueryVector } from "./embed/semantic-search.ts"
import { fulfils } from "./fts-expression.ts"
import type { Hit } from "./hit.ts"
import { roomOfHits } from "./hit-budget.ts"
import { isTypedPrefix, parseQuery, type Query, type Term } from "./parse-query.ts"
import { passagesOf } from "./passages.ts"
import { fuseNamed, scoreOfPlace } from "./rank.ts"
import type { FoundTurns, SearchRequest } from "./search-turns.ts"
import { densest, placesIn, type Sought, soughtBy } from "./snippet.ts"

/** ms for everything that a search asks of a target. */
const DEADLINE = 2000
/** ms more for a key: half a second of an idle processor, and several of a busy one, which nobody there can help. */
const KEY = 6000
/** The same for what runs on this computer: it may be slow, but does not hang. */
const DEADLINE_HERE = 15_000
/** How many more entries are asked for than are wanted, because some are left out here. */
const SPARE = 5
/** A pasted log is a query as well; its rarest words are enough. */
const MOST_WORDS = 12
/** How many of them an entry may have any of, and how many such entries are looked at. */
const MOST_ANY = 6
const CANDIDATES = 40

export interface FarTarget {
  /** For people. */
  readonly shown: string
  /** Whether a program on this computer answers, and no server. */
  readonly isHere?: boolean
  /** Whether a key may have to be made of a passphrase first. */
  makesKey?(): boolean
  /** @param patience ms for one call to a server */
  openToRead(patience: number): Promise<Target>
}

type FarNarrowing = Omit<EntriesWanted, "withContent">

interface FarRequest extends FarNarrowing {
  readonly query: Query
  /** What words weigh in the archive here. What it does not have is the rarest; among those, what is longer. */
  readonly weights: readonly Weighted[]
  /** Searches by meaning as well, or alone. */
  readonly vector?: EntryVector | undefined
  readonly byWords?: boolean
}

/**
 * What a search asks of targets.
 *
 * @param vector of an installed model: entries have no others
 */
export const farRequest = (
  { query, limit, project, session, since, until, tool, file }: SearchRequest,
  weights: readonly Weighted[],
  vector: QueryVector | undefined,
  byWords: boolean,
): FarRequest => ({
  query: parseQuery(query),
  weights,
  limit,
  vector: vector && { embedder: vector.embedder, values: [...vector.values] },
  byWords,
  projectName: project === undefined ? undefined : shortNameOf(project),
  session,
  since,
  until,
  tool,
  file,
})

type Place = Pick<PathsAndPolicy, "dataHome" | "secrets">

interface FarWorld {
  readonly place: Place
  /** Undefined if nothing is archived here. */
  readonly db: Database | undefined
}

interface FarFound {
  /** Who answered, for people. */
  readonly target: string
  /** Best first. */
  readonly hits: readonly FarHit[]
  /** Whether there are more than were asked for. */
  readonly more: boolean
  /** Turns that were left out, because their session's name is none. */
  readonly misnamed: number
  /** Whether nobody but this user's machines can read what is there. */
  readonly isBlind?: boolean
  /** The share of the query's words, by weight, that the best hit has. */
  readonly share: number
}

/** @throws CtxError exit 64 for what nobody can be asked for elsewhere */
export function refuseUnknown({ terms, must, isStrict }: Query): void {
  const isField = (node: Query["must"]): boolean =>
    node?.kind === "field" || (node?.kind === "and" && node.nodes.some(isField))
  if (!isStrict && !terms.some(isTypedPrefix) && !isField(must)) return
  throw usageError(
    "operators, begin* and fields cannot be used with --backend or --everywhere",
    'words and "phrases" can; --tool narrows to a tool',
  )
}

export interface FarAnswer {
  /** Undefined if nobody answered. */
  readonly found?: FarFound
  /** What was said by those that did not. */
  readonly failures: readonly CtxError[]
  /** What to tell of turns that were left out; undefined if there are none. */
  readonly leftOut?: string | undefined
}

/** Asks the first target that answers. */
export async function findFar(
  targets: readonly FarTarget[],
  request: FarRequest,
  world: FarWorld,
): Promise<FarAnswer> {
  const failures: CtxError[] = []
  for (const target of targets) {
    try {
      const found = await askedWithin(target, (backend) => foundAt(backend, target, request, world))
      return { found, failures, leftOut: leftOut(found) }
    } catch (error) {
      failures.push(
        isCtxError(error) ? error : new CtxError("target-failed", `${target.shown}: ${messageOf(error)}`),
      )
    }
  }
  return { failures }
}

/**
 * Hits of both, best first, by their places in both lists. What was found here keeps its order, and what is here but was not
 * found here comes after it: what the target thinks of our own turns says nothing new. So does what has fewer of the
 * query's words than the best turn here: a place in a list says nothing of how good the list is.
 *
 * @param local best first
 */
export function withFar<T extends Hit | FarHit>(
  local: readonly T[],
  { asked, lacking }: FoundTurns["words"],
  { hits, share }: Pick<FarFound, "hits" | "share">,
): (T | FarHit)[] {
  const here = new Set(local.map(({ handle }) => handle))
  const own = local.length === 0 || asked.length === 0 ? 0 : 1 - lacking.length / asked.length
  const placeOf = ({ handle }: FarHit, place: number): number =>
    share >= own && farId(handle) !== undefined ? place : local.length + place
  const placed = [
    ...local.map((hit, place) => ({ hit, place })),
    ...hits.flatMap((hit, n) => (here.has(hit.handle) ? [] : [{ hit, place: placeOf(hit, n) }])),
  ]
  return placed
    .sort((a, b) => a.place - b.place)
    .map(({ hit, place }) => ({ ...hit, score: scoreOfPlace(place) }))
}

/** The whole entry, without secrets; undefined if there is none, or its session is forgotten here. */
export async function openFar(
  targets: readonly FarTarget[],
  id: string,
  { place }: Pick<FarWorld, "place">,
): Promise<{ readonly entry: FarEntry; readonly target: string } | undefined> {
  for (const [n, target] of targets.entries()) {
    try {
      const found = await askedWithin(target, (backend) => opened(backend, id))
      if (found === undefined) continue
      return !isPlainSession(found.metadata.sessionId) || isForgotten(place, found)
        ? undefined
        : { entry: withoutSecrets(found, place), target: target.shown }
    } catch (error) {
      if (n === targets.length - 1) throw error
    }
  }
  return undefined
}

/** One's own, or else one that others share. */
async function opened(backend: Target, id: string): Promise<FarEntry | undefined> {
  const own = await backend.get(id)
  const found = own === undefined ? await backend.shares?.get(id).catch(unlessOlder) : { entry: own }
  if (found === undefined) return undefined
  const { vector: _vector, by: _claimed, ...entry } = found.entry as Entry & { readonly by?: unknown }
  return { ...entry, ...("by" in found && { by: found.by }) }
}

/** A server without shares has none. */
function unlessOlder(error: unknown): undefined {
  if (codeOf(error) !== "target-older") throw error
}

/** Opens a target, and waits for the answer no longer than the deadline. */
async function askedWithin<T>(target: FarTarget, ask: (backend: Target) => Promise<T>): Promise<T> {
  const deadline = target.isHere ? DEADLINE_HERE : DEADLINE + (target.makesKey?.() === true ? KEY : 0)
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(silent(target, deadline)), deadline)
  })
  const opening = target.openToRead(deadline)
  try {
    return await Promise.race([opening.then(ask), silence])
  } finally {
    clearTimeout(timer)
    // Not waited for: a silent server would have to say goodbye. Whoever opens late is closed late.
    opening.then((backend) => backend.close()).catch(() => {})
  }
}

const leftOut = ({ misnamed, target, isBlind }: FarFound): string | undefined =>
  isBlind
    ? `${target} is encrypted, so words are searched at home alone: ctxbridge sync --pull fetches what is there`
    : misnamed === 0
      ? undefined
      : `${target}: ${count(misnamed, "turn")} left out, because ${misnamed === 1 ? "its session id is" : "their session ids are"} not valid`

const silent = ({ shown }: FarTarget, deadline: number): CtxError =>
  new CtxError("target-silent", `${shown}: no answer within ${deadline / 1000} s`, {
    hint: "ctxbridge search without --backend and --everywhere finds what is archived here",
  })

async function foundAt(
  backend: Target,
  { shown }: FarTarget,
  request: FarRequest,
  world: FarWorld,
): Promise<FarFound> {
  const { query, weights, vector, byWords = true, limit, ...narrowing } = request
  // What is sought tells of what is there.
  if (backend.isBlind) return { target: shown, hits: [], more: false, misnamed: 0, isBlind: true, share: 0 }
  const wanted = { ...narrowing, limit: limit + SPARE, withContent: true }
  const { found, share } = byWords ? await byWordsAt(backend, request, wanted) : { found: [], share: 1 }
  const alike = vector === undefined ? [] : await backend.find({ ...wanted, vector })
  const entries: FarEntry[] = []
  let misnamed = 0
  for (const one of fuseNamed([found, alike], ({ id }) => id)) {
    // Checking takes time, so one more than is wanted is enough.
    if (entries.length > limit) break
    const { score: _score, ...entry } = one
    // Others may have written it.
    if (!isEntry(entry)) continue
    if (!isPlainSession(entry.metadata.sessionId)) misnamed++
    else if (!isForgotten(world.place, entry)) entries.push(withoutSecrets(entry, world.place))
  }
  const hits = farHitsOf(
    entries.slice(0, limit),
    soughtBy(query.terms.map((term) => ({ ...term, weight: weightOf(term, weights) }))),
    shown,
    (entry) => handleHere(world, entry),
  )
  return { target: shown, hits, more: entries.length > limit, misnamed, share }
}

/** What has all words of the query and, if these are few, what has some of the rarest. */
async function byWordsAt(
  backend: Target,
  { query, weights }: FarRequest,
  wanted: EntriesWanted,
): Promise<{ readonly found: readonly FoundEntry[]; readonly share: number }> {
  const terms = query.terms.map((term) => ({ ...term, weight: weightOf(term, weights) }))
  const words = rarestFirst(terms).slice(0, MOST_WORDS)
  const all = await backend.find({ ...wanted, words: words.join(" ") })
  if (words.length === 0) return { found: all, share: 1 }
  const some =
    all.length >= wanted.limit || words.length === 1
      ? []
      : await backend.find({
          ...wanted,
          words: words.slice(0, MOST_ANY).join(" "),
          isAny: true,
          limit: CANDIDATES,
        })
  const both = [...new Map([...all, ...some].map((one) => [one.id, one])).values()]
  const said = both.filter((one) => says(one, query))
  // If nobody said exactly that, its words are still what was asked for.
  const ranked = rankEntries(said.length > 0 ? said : both, soughtBy(terms))
  return { found: ranked.map(({ entry }) => entry), share: ranked[0]?.share ?? 1 }
}

const says = ({ content = "" }: FoundEntry, { must }: Query): boolean =>
  must === undefined || fulfils(must, { text: content, role: "", tools: [] })

function rarestFirst(terms: readonly Weighted[]): string[] {
  const rarity = new Map<string, number>()
  for (const { typed, weight } of terms) rarity.set(typed, Math.max(rarity.get(typed) ?? 0, weight))
  return [...rarity]
    .sort(([one, a], [other, b]) => b - a || other.length - one.length)
    .map(([typed]) => typed)
}

const weightOf = ({ word }: Term, weights: FarRequest["weights"]): number =>
  weights.find((one) => one.word === word)?.weight ?? Math.max(1, ...weights.map(({ weight }) => weight))

/**
 * Whether something of its session is forgotten here. The target may not have been told yet, and what of the session is
 * still here is found here.
 */
const isForgotten = ({ dataHome }: Place, { metadata }: FarEntry): boolean =>
  readTombstone(dataHome, metadata.sessionId.split("/", 1)[0]!) !== undefined

/** By today's rules, whatever the user has switched off: somebody else may have sent it with older ones. */
const withoutSecrets = (entry: FarEntry, { secrets }: Place): FarEntry =>
  filtered(entry, (text) => filterText(text, { ...secrets, enabled: true }))

/** Others may say that theirs is a turn of ours. */
const handleHere = ({ db }: Pick<FarWorld, "db">, { metadata, by }: FarEntry): string | undefined =>
  db && by === undefined
    ? handleOfTurn(db, metadata.sessionId, metadata.chunkIndex, metadata.timestamp)
    : undefined

/** Where it was found. */
interface FarPlace {
  /** As shown to people: a path, or an address without its password. */
  readonly target: string
  /** Name of the computer that sent it; null for what others share, of whose names nobody knows. */
  readonly machine: string | null
  /** Of what another user shares: his role at the server. It is not what this user said, decided or wants. */
  readonly by: string | null
  /** The entry's. */
  readonly id: string
}

export interface FarHit extends Omit<Hit, "role"> {
  /** `far:` and the beginning of the entry's id, or `ctx:` and the turn's own handle if the archive here has it, too. */
  readonly handle: string
  /** An entry is a whole turn, which nobody said alone. */
  readonly role: null
  readonly summary: string
  readonly far: FarPlace
}

/** UTF-16 units for all hits, for the summary of one, and the least for its passages. */
const ROOM = 4000
const LONGEST_SUMMARY = 150
const LEAST = 100
/** Of names that others made up. */
const LONGEST_NAME = 400

export type FarEntry = Omit<Entry, "vector"> & Pick<FoundEntry, "by">

/**
 * Others may have written it, so its texts are filtered again.
 *
 * @param filter fills secrets in a text
 */
const filtered = (entry: FarEntry, filter: (text: string) => string): FarEntry => ({
  ...entry,
  summary: cut(filter(entry.summary), LONGEST_SUMMARY),
  content: filter(entry.content),
  ...(entry.by !== undefined && { by: nameOf(entry.by, filter) }),
  metadata: {
    ...entry.metadata,
    ...(entry.metadata.machine !== undefined && { machine: nameOf(entry.metadata.machine, filter) }),
    sessionId: nameOf(entry.metadata.sessionId, filter),
    project: entry.metadata.project === null ? null : nameOf(entry.metadata.project, filter),
    toolNames: entry.metadata.toolNames.map((name) => nameOf(name, filter)),
    filePaths: entry.metadata.filePaths.map((path) => nameOf(path, filter)),
  },
})

const nameOf = (text: string, filter: (text: string) => string): string =>
  cut(oneLine(filter(text)), LONGEST_NAME)

/** @param handleHere the handle of the turn if the archive here has it */
function farHitsOf(
  entries: readonly FarEntry[],
  sought: Sought,
  target: string,
  handleHere: (entry: FarEntry) => string | undefined,
): FarHit[] {
  const rooms = roomOfHits(
    entries.map(({ content }) => ({ score: 1, wants: content.length })),
    ROOM,
  )
  return entries.map((entry, n) => {
    const { id, summary, content, metadata, by } = entry
    const part = { text: content, isProse: true, isFound: true, isLast: false }
    const [passages] = passagesOf([part], sought, Math.max(LEAST, rooms[n]! - summary.length))
    return {
      handle: handleHere(entry) ?? farHandle(id),
      session: metadata.sessionId,
      seq: metadata.chunkIndex,
      uuid: null,
      project: metadata.project,
      time: metadata.timestamp,
      role: null,
      tool: null,
      score: 0,
      why: [],
      snippet: passages!.text,
      marks: passages!.marks,
      prompt: null,
      answer: null,
      also: [],
      summary,
      far: { target, machine: metadata.machine ?? null, by: by ?? null, id },
      ...(metadata.takenBack && { takenBack: true as const }),
    }
  })
}

/** UTF-16 units within which words count as said together. */
const TOGETHER = 600
/** What a word counts that is elsewhere in the turn. */
const APART = 0.3

interface RankedEntry<T> {
  readonly entry: T
  readonly score: number
  /** The share of the words, by weight, that it has. */
  readonly share: number
}

/** Orders entries by their text, since backends only say which ones have the words: best first; equal ones stay as they came. */
function rankEntries<T extends { readonly content?: string }>(
  entries: readonly T[],
  sought: Sought,
): RankedEntry<T>[] {
  const weights = [...sought.words.values()]
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  return entries
    .map((entry) => {
      const places = placesIn(entry.content ?? "", sought)
      const bits = places.reduce((seen, { words }) => seen | words, 0)
      const has = weights.reduce((sum, weight, n) => ((bits >>> n) & 1 ? sum + weight : sum), 0)
      const score = densest(places, TOGETHER).weight + APART * has
      return { entry, score, share: all === 0 ? 1 : has / all }
    })
    .sort((a, b) => b.score - a.score)
}

const PREFIX = "far:"
/** Digits of the id: enough that no two are alike. */
const DIGITS = 16

export const farHandle = (id: string): string => PREFIX + id.slice(0, DIGITS)

/** @returns the digits of a handle as it was copied from a sentence, maybe with a place in the turn; undefined: none */
export const farId = (typed: string): string | undefined =>
  /^["'`([<\s]*far:\s*([0-9a-f]{16,64})(?:@[-\d]*)?["'`)\]>.,;:\s]*$/i.exec(typed)?.[1]?.toLowerCase()
