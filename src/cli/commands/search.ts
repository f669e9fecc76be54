/** `ctxbridge search`: finds turns of any session by what was said, run, read or failed. */
import type { Database } from "../../archive/database.ts"
import { openAtOnce } from "../../archive/open-at-once.ts"
import { titlesOf } from "../../archive/queries/session-titles.ts"
import { hasObservations, type Observation } from "../../archive/queries/summaries.ts"
import { hasCold } from "../../archive/queries/turn-ages.ts"
import type { ColdRequest } from "../../search/cold-search.ts"
import { type Correction, correctionNote, LOOSE_NOTE, partialNote } from "../../search/corrected-query.ts"
import { localFinder } from "../../search/local-finder.ts"
import { typedPath } from "../../search/narrowing.ts"
import type { NothingFound } from "../../search/nothing-found.ts"
import { ALSO_ROLES, ROLES } from "../../search/parse-query.ts"
import { type FoundTurns, isWanting } from "../../search/search-turns.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { count, cut } from "../../util/text.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { oneOf, positive, stringArg, words } from "../args.ts"
import { type Command, type Context, flag, naming, option } from "../command.ts"
import type { FarAnswer, FarAsked } from "../far-search.ts"
import { IN_PROJECT_ARGS, knownProject, notFound, projectWanted } from "../project-wanted.ts"
import { type AnyHit, layOutHits, renderHits } from "../render-hits.ts"
import { renderObservations } from "../render-observations.ts"
import { screenOf, timeArg } from "../screen.ts"
import { safe } from "../style.ts"

const LIMIT = 10
/** UTF-16 units of a query that are repeated. */
const TOLD = 200

const MODES = ["lexical", "semantic", "hybrid"] as const

export default {
  meta: {
    name: "search",
    description: "Find turns by what was said, run, read or failed",
    badOptions: "unread",
  },
  args: {
    query: {
      type: "positional",
      rest: true,
      description: 'Words; also AND, OR, NOT, (…), "a phrase", begin*, role:human, tool:Bash',
    },
    ...IN_PROJECT_ARGS,
    session: naming("session", "In this session and its subagents", "ID"),
    since: option("Since this time: 2026-03-01, or 7d, 12h (ago)", "TIME"),
    until: option("Before this time", "TIME"),
    role: option("Who said it", ROLES.join("|")),
    tool: naming("tool", "Calls of this tool, and their results", "NAME", "t"),
    file: option("In turns that touched this file", "PATH"),
    error: flag("Only what failed"),
    exact: flag("Do not correct typos"),
    limit: option(`At most this many hits (${LIMIT})`, "N", "n"),
    cold: flag("Also search the vault itself, for what the index lacks (slow)"),
    backend: option("Search this sync target (a folder or server) instead", "DIR|URL"),
    everywhere: flag("Also search where sync sends turns"),
    mode: option("By words (default), by meaning, or both", MODES.join("|")),
  },
  rows: {
    list: "hits",
    columns: ["handle", "time", "session", "seq", "role", "tool", "title", "snippet"],
    others: [
      "project",
      "uuid",
      "score",
      "why",
      "marks",
      "prompt",
      "answer",
      "also",
      "takenBack",
      "promptsOnly",
      "cold",
      "line",
      "far",
      "summary",
    ],
  },
  async run(context) {
    const { args, env, out } = context
    const limit = positive(args, "limit") ?? LIMIT
    const mode = oneOf(args, "mode", MODES) ?? "lexical"
    const query = words(args).join(" ")
    const now = Date.now()
    const narrowing = narrowingOf(context, now)
    const far = isFar(context) ? await import("../far-search.ts") : undefined
    const targets = far?.farTargets(context, query) ?? []
    if (far !== undefined && (args["everywhere"] !== true || far.isNothingHere(env.dataHome))) {
      const project = projectWanted(context)
      const asked = { query, limit, mode, project, session: stringArg(args, "session"), ...narrowing }
      return printFar(context, await far.searchFarAlone(context, targets, asked), asked, now)
    }
    using db = await openedFor(env.dataHome)
    using readers = new CopyReaders()
    const session = await sessionWanted(context, db)
    const project = knownProject(db, context, projectWanted(context))
    const isExact = args["exact"] === true
    const request = { query, limit, project, session, isExact, ...narrowing }
    const sense =
      mode === "lexical"
        ? undefined
        : await (await import("../../search/search-by-meaning.ts")).similarTo(env, db, query, {
            project,
            session,
            isNarrowed: Object.values(narrowing).some(Boolean),
          })
    const bySense = sense && { similar: sense.similar, byWords: mode === "hybrid" }
    const local = localFinder(db, env.dataHome, readers).find({ ...request, ...bySense })
    const { isLoose, corrections, partial, ranked } = local
    const both = await far?.searchFarToo(context, targets, { ...request, mode }, db, local)
    const { hits, more } = both ?? local
    const indexed = {
      hits,
      more,
      ...(both && { far: both.far }),
      ...(corrections && { corrections }),
      ...(partial && { partial }),
    }
    const { note: own, ...found }: Answer =
      args["cold"] === true
        ? await withCold(context, db, request, indexed, ranked)
        : ((await withColdTurns(context, db, request, indexed, local)) ?? indexed)
    const isOnlyLoose = isLoose && found.hits.length > 0 && !found.hits.some((hit) => "cold" in hit)
    // What was found elsewhere has the words as they were typed.
    const isFound = found.hits.some((hit) => "far" in hit)
    const note =
      sense?.note ??
      own ??
      (isFound ? undefined : isOnlyLoose ? LOOSE_NOTE : (correctionNote(corrections) ?? partialNote(partial)))
    const observations = hasObservations(db)
      ? (await import("../../search/observations.ts")).observationsFor(db, query, request)
      : []
    if (found.hits.length === 0 && observations.length === 0) {
      const { whyNothing } = await import("../../search/nothing-found.ts")
      const { unknownTool, emptiedBy } = whyNothing(db, env.dataHome, request, readers)
      if (unknownTool !== undefined) throw noSuchTool(unknownTool)
      throw notFound(db, query, project, { note, because: becauseOf(context, emptiedBy) })
    }
    const named = out.wantsJson || out.terminal ? { ...found, hits: withTitles(db, found.hits) } : found
    const observed = observations.length > 0 ? { observations } : {}
    if (out.wantsJson)
      out.json({ query, mode, ...(note && { note }), project: project ?? null, ...named, ...observed })
    else print(context, named, { note, limit, everywhere: project === undefined, now, ...observed })
  },
} satisfies Command

function withTitles(db: Database, hits: readonly AnyHit[]): AnyHit[] {
  const titles = titlesOf(
    db,
    hits.map(({ session }) => session),
  )
  return hits.map((hit) => ({ ...hit, title: titles.get(hit.session) ?? null }))
}

/** The filters that hits must pass besides the words. */
function narrowingOf({ args, env }: Context, now: number) {
  const [since, until] = [timeArg(args, "since", now), timeArg(args, "until", now)]
  if (since !== undefined && until !== undefined && since >= until) {
    throw usageError("--since is not before --until", `${since} and ${until}`)
  }
  const file = stringArg(args, "file")
  return {
    since,
    until,
    role: oneOf(args, "role", ROLES, ALSO_ROLES),
    tool: stringArg(args, "tool"),
    file: file && typedPath(file, env.cwd, env.home),
    error: args["error"] === true,
  }
}

function noSuchTool({ name, near }: NonNullable<NothingFound["unknownTool"]>): CtxError {
  return new CtxError("not-found", `no call of a tool named ${JSON.stringify(name)} is archived`, {
    hint: near.length > 0 ? `did you mean ${near.join(" or ")}?` : "ctxbridge show names the tools of a turn",
    exit: EXIT.notFound,
  })
}

/** The filters that let nothing through, as they were typed. */
function becauseOf({ args }: Context, emptied: NothingFound["emptiedBy"]): string {
  if (emptied === undefined) return ""
  const { filters, turns, isMore } = emptied
  const number = isMore ? `more than ${turns}` : `${turns}`
  if (filters.includes("project") && filters.length === 1) return `; ${number} in other projects`
  const typed = filters.flatMap((name) => {
    const value = stringArg(args, name)
    return name === "error" ? "--error" : value === undefined ? [] : `--${name} ${value}`
  })
  return ` with ${typed.join(" ")}; ${number} without ${typed.length === 1 ? "it" : "them"}`
}

const isFar = ({ args }: Context): boolean =>
  stringArg(args, "backend") !== undefined || args["everywhere"] === true

function printFar(
  context: Context,
  found: FarAnswer,
  { query, mode, project, limit }: FarAsked,
  now: number,
): void {
  const { out } = context
  if (found.hits.length === 0) {
    throw new CtxError(
      "not-found",
      `nothing at ${found.far.target} matches ${JSON.stringify(cut(query, TOLD))}`,
      {
        hint:
          project === undefined ? "try fewer or other words" : "--all-projects looks in every project there",
        exit: EXIT.notFound,
      },
    )
  }
  out.json({ query, mode, project: project ?? null, ...found })
  print(context, found, { note: found.note, limit, everywhere: true, now })
  if (context.args["everywhere"] !== true)
    out.print(`ctxbridge show HANDLE --backend ${safe(found.far.target ?? "")} opens one.`)
}

interface Answer {
  readonly hits: readonly AnyHit[]
  readonly more: boolean
  readonly corrections?: readonly Correction[]
  /** Number of copies that a search of the vault could not read. */
  readonly unreadable?: number
  readonly note?: string
}

interface Shown {
  /** What the user should know about how it was found. */
  readonly note: string | undefined
  readonly limit: number
  readonly everywhere: boolean
  readonly now: number
  readonly observations?: readonly Observation[]
}

function print({ out }: Context, { hits, more, unreadable }: Answer, shown: Shown): void {
  const { note, limit, everywhere, now, observations = [] } = shown
  if (note !== undefined) out.print(note)
  out.print((out.terminal ? layOutHits : renderHits)(hits, screenOf(out, now), everywhere))
  if (observations.length > 0) {
    const gap = hits.length > 0 ? [""] : []
    out.print([...gap, ...renderObservations(observations, screenOf(out, now))])
  }
  if (more) out.print(`More with --limit ${limit * 3}.`)
  if (unreadable) {
    out.print(`${count(unreadable, "copy", "copies")} could not be read: ctxbridge verify names them.`)
  }
}

async function withCold(
  { env, out }: Context,
  db: Database,
  request: Omit<ColdRequest, "found" | "onProgress">,
  indexed: Answer,
  ranked: readonly { readonly turn: number }[],
): Promise<Answer> {
  const { searchVault } = await import("../../search/cold-search.ts")
  const onProgress = (done: number, total: number): void =>
    out.progress("searching the vault", done, total, "bytes")
  const found = new Set(ranked.map(({ turn }) => turn))
  const cold = searchVault(db, env.dataHome, { ...request, found, onProgress })
  return {
    ...indexed,
    hits: [...indexed.hits, ...cold.hits],
    more: indexed.more || cold.more,
    unreadable: cold.unreadable,
  }
}

const CUT = "turns outside the index were searched for one second only; --cold searches them all"

/** With turns that are out of the index, first, since they have more of the words; undefined if there are none. */
async function withColdTurns(
  { env }: Context,
  db: Database,
  request: Omit<ColdRequest, "found">,
  indexed: Answer,
  finding: FoundTurns,
): Promise<Answer | undefined> {
  if (!isWanting(finding) || !hasCold(db)) return undefined
  const { searchColdTurns } = await import("../../search/cold-fallback.ts")
  const { hits, more, isCut, unreadable } = searchColdTurns(db, env.dataHome, request, finding)
  // What was taken for a mistyped word is one that only these turns have.
  const isTyped =
    indexed.corrections !== undefined && hits.length > 0 && !indexed.hits.some((hit) => "far" in hit)
  const others = isTyped ? { hits: [], more: false } : indexed
  const all = [...hits, ...others.hits]
  return {
    ...others,
    hits: all.slice(0, request.limit),
    more: others.more || more || all.length > request.limit,
    ...(unreadable > 0 && { unreadable }),
    ...(isCut && { note: CUT }),
  }
}

async function sessionWanted({ args }: Context, db: Database): Promise<string | undefined> {
  const word = stringArg(args, "session")
  return word === undefined
    ? undefined
    : (await import("../../read/by-name.ts")).findSessionByName(db, word).id
}

const openedFor = async (dataHome: string): Promise<Database> =>
  openAtOnce(dataHome) ?? (await import("../../job/open-to-read.ts")).openToRead(dataHome)
