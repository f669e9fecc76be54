/**
 * A search as a table of steps over one value: what is found here by meaning and by words, elsewhere, and outside the
 * index, what a model observed, and why there is nothing. The command and the server make a request of what was typed,
 * and show what comes back.
 */

import { runTable, type TableStep } from "../base/step-table.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import type { ObservationType } from "../record/model-summary.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { hasObservations, type Observation } from "../views/queries/summaries.ts"
import { hasCold } from "../views/queries/turns.ts"
import type { VectorTotals } from "../views/vectors.ts"
import type { ColdFound, ColdHit } from "./cold.ts"
import type { Doubt } from "./doubt.ts"
import type { FarAnswer, FarHit, FarTarget } from "./elsewhere.ts"
import type { Hit } from "./hit.ts"
import type { NothingFound } from "./nothing-found.ts"
import type { Alike } from "./rank.ts"
import { type Begun, begun, type FoundTurns, isWanting, type SearchRequest, search } from "./search-turns.ts"

export interface FindRequest extends Omit<SearchRequest, "similar" | "byWords" | "isHybrid" | "telling"> {
  /** Only observations of this type, with the words if there are any. `type:` and a type in the query say the same. */
  readonly observed?: ObservationType | undefined
  /** `elsewhere`: only there. */
  readonly where: "here" | "elsewhere" | "both"
  /**
   * How meaning counts: as far as words leave something open and there is a model, alone, or always besides words. The
   * latter two take what there is instead of a model, and tell so in a note. Undefined: words alone.
   */
  readonly meaning?: "auto" | "semantic" | "hybrid" | undefined
  /** Puts the best that were found here in another order, before anything is put among them. */
  readonly order?: Order
  /**
   * What is outside the index: turns with more of the words come first, or are told apart; or the whole vault is searched
   * for whatever the index lacks, which comes last.
   */
  readonly cold: "first" | "apart" | "vault"
  /** Whether to tell that other projects have better ones. Default: false. */
  readonly tellsOthers?: boolean
  /** Called with the bytes of the vault searched so far. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface Order {
  /** How many of the best it needs, if more than were asked for. */
  readonly among: number
  /** @returns all hits, best first */
  put(found: FoundTurns, isByMeaning: boolean): readonly Hit[]
}

interface FindWorld extends Pick<PathsAndPolicy, "dataHome" | "stateHome" | "secrets"> {
  /** Undefined if nothing is archived here: then only elsewhere can be searched. */
  readonly db: Database | undefined
  /** `search.meaning` says whether meaning counts where nobody asks for it by name. */
  readonly config: Pick<Config, "search.meaning">
  readonly readers: CopyReaders
  readonly targets: readonly FarTarget[]
}

export interface FindResult {
  /** From the index here and from elsewhere, best first; no more than were asked for. */
  readonly indexed: readonly (Hit | FarHit)[]
  /** The same with what is outside the index, unless that is told apart. */
  readonly hits: readonly (Hit | FarHit | ColdHit)[]
  /** Whether there are more than were asked for. */
  readonly more: boolean
  /** What the index here has, of which the rest is made. */
  readonly local: FoundTurns
  /** What is to be known of a search by meaning. */
  readonly note: string | undefined
  /** How many turns can be found by meaning, if a model compared them. */
  readonly vectors: VectorTotals | undefined
  readonly far: FarAnswer | undefined
  readonly cold: ColdFound | undefined
  /** Whether `hits` are those outside the index alone: what was taken for a mistyped word is one that only they have. */
  readonly isTyped: boolean
  /** What other projects have, if their best is better. */
  readonly others: { readonly turns: number; readonly more: boolean } | undefined
  readonly observations: readonly Observation[]
  /** Why the hits may not be what was asked for. */
  readonly doubt: Doubt | undefined
  /** Told if there is no hit, here or elsewhere. */
  readonly why: NothingFound | undefined
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

interface Finding extends Writable<FindResult> {
  readonly request: FindRequest
  readonly world: FindWorld
  begun?: Begun
  /** What a search by meaning found. */
  alike?: Alike | undefined
}

/** With an archive that is to be searched. */
interface FindingHere extends Finding {
  readonly world: FindWorld & { readonly db: Database }
}

type Step = TableStep<Finding> | (TableStep<FindingHere, "archive"> & { readonly needs: "archive" })

/** In this order. What most searches have no need of is loaded when it is due. */
const STEPS: readonly Step[] = [
  { name: "by words", needs: "archive", run: findByWords },
  {
    name: "by meaning",
    needs: "archive",
    due: ({ request: { meaning }, world, begun }) => {
      const coverage = meaning === undefined ? undefined : begun?.coverage()
      if (coverage === undefined || meaning !== "auto") return coverage !== undefined
      return coverage.isOpen && world.config["search.meaning"] === "auto"
    },
    run: findByMeaning,
  },
  { name: "both joined", needs: "archive", run: join },
  { name: "elsewhere", due: ({ request }) => request.where !== "here", run: askElsewhere },
  { name: "as many as wanted", run: keepWanted },
  {
    name: "other projects",
    needs: "archive",
    due: ({ request: { tellsOthers = false, where, project }, local }) =>
      tellsOthers && where === "here" && project !== undefined && isImprovable(local),
    run: lookInOthers,
  },
  {
    name: "outside the index",
    needs: "archive",
    due: ({ request, world, local }) => request.cold === "vault" || (isWanting(local) && hasCold(world.db)),
    run: findCold,
  },
  {
    name: "observations",
    needs: "archive",
    due: ({ world }) => hasObservations(world.db),
    run: findObservations,
  },
  {
    name: "doubt",
    needs: "archive",
    due: ({ hits, local, isTyped, request }) =>
      !isTyped && mayBeDoubted(request.query, local) && !hits.some(isElsewhere),
    run: lookForDoubts,
  },
  {
    name: "why nothing",
    needs: "archive",
    due: ({ hits, cold }) => hits.length === 0 && !cold?.hits.length,
    run: askWhyNothing,
  },
]

const NOTHING: FoundTurns = {
  hits: [],
  more: false,
  isLoose: false,
  ranked: [],
  terms: [],
  words: { asked: [], lacking: [] },
  linesOf: () => undefined,
  lackedBy: () => [],
}

/** @throws CtxError if only elsewhere is searched and nobody answers */
export async function find(request: FindRequest, world: FindWorld): Promise<FindResult> {
  const finding: Finding = {
    request,
    world,
    indexed: [],
    hits: [],
    more: false,
    local: NOTHING,
    note: undefined,
    vectors: undefined,
    far: undefined,
    cold: undefined,
    isTyped: false,
    others: undefined,
    observations: [],
    doubt: undefined,
    why: undefined,
  }
  if (await hasOnlyObservations(finding)) return finding
  await runTable<Finding, "archive">(STEPS, finding, () => isHere(finding))
  return finding
}

/** Whether observations of a type are all that is asked for. They are a model's, so no turn stands among them. */
async function hasOnlyObservations(finding: Finding): Promise<boolean> {
  const { query, observed, limit } = finding.request
  if (!isHere(finding) || (observed === undefined && !/\btype:/i.test(query))) return false
  const { observationsAlone } = await import("./observations.ts")
  const wanted = { type: observed, most: limit + 1 }
  const found = observationsAlone(finding.world.db, query, finding.request, wanted)
  if (found === undefined) return false
  finding.observations = found.slice(0, limit)
  finding.more = found.length > limit
  return true
}

const isHere = (finding: Finding): finding is FindingHere =>
  finding.request.where !== "elsewhere" && finding.world.db !== undefined

async function findByWords(finding: FindingHere): Promise<void> {
  const { request, world } = finding
  const { limit, order, meaning, error } = request
  const telling = error === true ? (await import("../record/error-lines.ts")).fromError : undefined
  const asked = { ...request, byWords: meaning !== "semantic", isHybrid: meaning === "hybrid", telling }
  const most = Math.max(limit, order?.among ?? 0)
  finding.begun = begun(world.db, world.dataHome, { ...asked, limit: most }, world.readers)
}

async function findByMeaning(finding: FindingHere): Promise<void> {
  const { request, world } = finding
  if (request.meaning === "auto") {
    // What compares is loaded only where there is a model.
    const { modelState } = await import("./embed/model-files.ts")
    if (modelState(world.dataHome).model === undefined) return
  }
  const { similarByModel, similarTo } = await import("./search-by-meaning.ts")
  const by = request.meaning === "auto" ? similarByModel : similarTo
  const found = await by(world, world.db, request.query, request)
  finding.alike = found
  finding.note = found?.note
  finding.vectors = found?.vectors
}

function join(finding: FindingHere): void {
  const { request, alike } = finding
  const local = finding.begun!.finish(alike)
  finding.local = local
  finding.indexed = request.order?.put(local, alike?.similar !== undefined) ?? local.hits
  finding.more = local.more
}

/** What is there is put among what was found here. If nobody answers, there is only that. */
async function askElsewhere(finding: Finding): Promise<void> {
  const { request, world, local } = finding
  const { farRequest, findFar, withFar } = await import("./elsewhere.ts")
  const { query, where, meaning } = request
  const isAsked = meaning !== undefined && meaning !== "auto"
  const isByMeaning = where === "elsewhere" ? isAsked : finding.alike?.similar !== undefined
  const vector =
    isByMeaning && query !== ""
      ? await (await import("./search-by-meaning.ts")).modelVector(world, query)
      : undefined
  const byWords = meaning !== "semantic" || vector === undefined
  const asked = farRequest(request, local.terms, vector, byWords)
  const far = await findFar(world.targets, asked, { place: world, db: world.db })
  finding.far = far
  if (where === "elsewhere") {
    if (far.found === undefined) throw far.failures.at(-1)!
    finding.indexed = far.found.hits
  } else if (far.found !== undefined) {
    finding.indexed = withFar<Hit | FarHit>(finding.indexed, local.words, far.found)
  }
  finding.more ||= far.found?.more ?? false
}

function keepWanted(finding: Finding): void {
  const { limit } = finding.request
  finding.more ||= finding.indexed.length > limit
  finding.indexed = finding.indexed.slice(0, limit)
  finding.hits = finding.indexed
}

/** Another project's best turn is better when it lacks at most this share of what ours lacks. */
const BETTER = 0.5

const isImprovable = ({ hits, words, isLoose }: FoundTurns): boolean =>
  hits.length === 0 || words.lacking.length > 0 || isLoose

/** Whether its best turn lacks a word, or may have a number for something else than was asked for. */
const mayBeDoubted = (query: string, { ranked: [best], lackedBy }: FoundTurns): boolean =>
  best !== undefined && (/(?<!\S)\d{2,}(?!\S)/.test(query) || lackedBy(best.turn).length > 0)

/** What is elsewhere or outside the index has the words as they were typed. */
const isElsewhere = (hit: FindResult["hits"][number]): boolean => "far" in hit || "cold" in hit

function lookInOthers(finding: FindingHere): void {
  const { request, world, local } = finding
  const { hits, words, more } = search(
    world.db,
    world.dataHome,
    { ...request, project: undefined },
    world.readers,
  )
  const isOther = ({ project }: Hit): boolean => project !== request.project
  if (hits[0] === undefined || !isOther(hits[0])) return
  if (local.hits.length > 0 && words.lacking.length > local.words.lacking.length * BETTER) return
  finding.others = { turns: hits.filter(isOther).length, more }
}

/** How many turns outside the index are told apart. */
const APART = 3

async function findCold(finding: FindingHere): Promise<void> {
  const { request, world, local, indexed } = finding
  const { db, dataHome } = world
  const { searchColdTurns, searchVault } = await import("./cold.ts")
  if (request.cold === "vault") {
    const found = new Set(local.ranked.map(({ turn }) => turn))
    finding.cold = searchVault(db, dataHome, { ...request, found })
    finding.hits = [...indexed, ...finding.cold.hits]
    finding.more ||= finding.cold.more
    return
  }
  const limit = request.cold === "apart" ? APART : request.limit
  const cold = searchColdTurns(db, dataHome, { ...request, limit }, local)
  finding.cold = cold
  if (request.cold === "apart") return
  finding.isTyped =
    local.corrections !== undefined && cold.hits.length > 0 && !indexed.some((hit) => "far" in hit)
  const all = finding.isTyped ? cold.hits : [...cold.hits, ...indexed]
  finding.hits = all.slice(0, limit)
  finding.more = (finding.more && !finding.isTyped) || cold.more || all.length > limit
}

async function findObservations(finding: FindingHere): Promise<void> {
  const { request, world } = finding
  const { observationsFor } = await import("./observations.ts")
  finding.observations = observationsFor(world.db, request.query, request)
}

async function lookForDoubts(finding: FindingHere): Promise<void> {
  const { request, world, local } = finding
  const { doubtOf } = await import("./doubt.ts")
  finding.doubt = doubtOf(world, local, request)
}

async function askWhyNothing(finding: FindingHere): Promise<void> {
  const { request, world } = finding
  const { whyNothing } = await import("./nothing-found.ts")
  finding.why = whyNothing(world.db, world.dataHome, request, world.readers)
}
