/** `search`: the best hits with their passages, so that most questions are answered by one call. */
import type { Database } from "../archive/database.ts"
import { openForReading } from "../archive/open-for-reading.ts"
import { shortNameOf } from "../archive/project.ts"
import type { EntryVector } from "../backends/entry.ts"
import { roomOfHits } from "../search/hit-budget.ts"
import { localFinder } from "../search/local-finder.ts"
import { type Narrowing, typedPath } from "../search/narrowing.ts"
import { whyNothing } from "../search/nothing-found.ts"
import { ROLES } from "../search/parse-query.ts"
import type { SearchRequest } from "../search/search-turns.ts"
import { usageError } from "../util/errors.ts"
import { logError } from "../util/log.ts"
import { MOMENTS, momentOf } from "../util/parse-moment.ts"
import { count, lengthOf } from "../util/text.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Arguments } from "./arguments.ts"
import { closestFirst, LOOKED_AT, type OpenedHit } from "./closest-first.ts"
import { betterElsewhere, doubts, reasons } from "./doubts.ts"
import { withFarTurns } from "./far-turns.ts"
import { hitAtLength, hitLine, projectName } from "./found-turns.ts"
import { DATA } from "./quoting.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"
import { namedSession, projectIn } from "./what-is-meant.ts"

const LIMIT = 6
const MOST = 30
/** How many hits are shown at length. */
const AT_LENGTH = 3
/** UTF-16 units of everything, of the passages of all hits, and of what a search finds for a line. */
const ROOM = 3500
const PASSAGES = 2600
const LEAST_PASSAGES = 1000
/** What a line takes of the passages' room when more of them are asked for. */
const TAKEN = 100

export const searchTool: ServerTool = {
  name: "search",
  title: "Search earlier sessions",
  description:
    "Find what was said, decided, run, read or failed in earlier (and this) sessions. Gives the best hits with passages, " +
    "quoted; often that is the answer. Otherwise `get` with a hit's handle. An empty query lists the newest that the " +
    "filters leave. This project only, unless all_projects.",
  properties: {
    query: {
      type: "string",
      description:
        'Words as they may have been said, names, paths, an error; also AND, OR, NOT, "a phrase", begin*',
    },
    all_projects: { type: "boolean", description: "Search every project" },
    session: { type: "string", description: "Only this session (id or its beginning)" },
    role: { type: "string", description: "Only what was said by", enum: ROLES },
    tool: { type: "string", description: "Only calls and results of this tool, e.g. Bash" },
    file: { type: "string", description: "Only turns that touched this file; src/ or *.ts: these files" },
    error: { type: "boolean", description: "Only what failed" },
    since: { type: "string", description: "From then on: 2026-03-01, 7d, 12h (ago)" },
    until: { type: "string", description: "Before then" },
    limit: { type: "integer", description: `Hits, at most (${LIMIT})`, minimum: 1, maximum: MOST },
  },
  withTarget: {
    everywhere: {
      type: "boolean",
      description: "Also what the user's other machines have sent (far: handles)",
    },
  },
  required: ["query"],
  readOnly: true,
  always: true,
  async run(args, world) {
    const query = args.text("query") ?? ""
    const limit = args.number("limit") ?? LIMIT
    using db = openForReading(world.dataHome)
    using readers = new CopyReaders()
    const session = sessionWanted(args, db)
    const own = projectIn(world)
    const project = args.flag("all_projects") || session !== undefined ? undefined : own
    const [since, until] = span(args, world.now())
    const file = args.text("file")
    const narrowing = {
      since,
      until,
      role: args.text("role"),
      tool: args.text("tool"),
      file: file && typedPath(file, world.folder, world.home),
      error: args.flag("error"),
    }
    const budget = Math.max(LEAST_PASSAGES, PASSAGES - TAKEN * Math.max(0, limit - LIMIT))
    const similar = await similarTo(db, world, query, { project, session, ...narrowing })
    const request = { query, limit, isBrief: true, session, similar, ...narrowing }
    const finder = localFinder(db, world.dataHome, readers)
    const found = finder.find({ ...request, limit: Math.max(limit, LOOKED_AT), project })
    const scope =
      session !== undefined
        ? "the session"
        : project === undefined
          ? "all projects"
          : `this project (${projectName(own)})`
    const isAsFound = similar !== undefined || isAboutMessages(narrowing)
    const opened = closestFirst(db, world.dataHome, readers, found, isAsFound)
    const isFar = args.flag("everywhere")
    const far = isFar
      ? await withFarTurns(
          world,
          found,
          opened,
          { ...narrowing, query, limit, session, projectName: project && shortNameOf(project) },
          db,
          similar && (await vectorFor(world, query)),
        )
      : { hits: opened, more: found.more || opened.length > limit, notes: [] }
    const elsewhere =
      project === undefined || isFar
        ? []
        : betterElsewhere(() => finder.find({ ...request, similar: undefined }), found, own)
    const isMixed = project === undefined
    const notes = [...far.notes, ...elsewhere]
    if (far.hits.length === 0) {
      const why = reasons(whyNothing(db, world.dataHome, { ...request, project }, readers))
      return { text: [nothingIn(scope, isMixed), ...why, ...notes].join("\n") }
    }
    const doubtful = isFar && far.hits.some(({ hit }) => "far" in hit) ? [] : doubts(found)
    const more = far.more || far.hits.length > limit
    const hits = far.hits.slice(0, limit)
    return { text: told(hits, { budget, scope, isMixed, notes: [...doubtful, ...notes], more }) }
  },
}

/** Whether the filters say what a message must be, and not only its turn. */
const isAboutMessages = ({ role, tool, error }: Narrowing): boolean =>
  role !== undefined || tool !== undefined || error === true

const nothingIn = (scope: string, isMixed: boolean): string =>
  `0 hits in ${scope}. Nothing found: try fewer or other words, fewer filters${isMixed ? "" : " or all_projects"}.`

const NEXT =
  "Next: `get` with one or several handles as written (@ is the line of the match) and the query shows more of them."
const MORE = "There are more hits: other words or filters."

interface Told {
  readonly budget: number
  readonly scope: string
  readonly isMixed: boolean
  readonly notes: readonly string[]
  readonly more: boolean
}

function told(hits: readonly OpenedHit[], { budget, scope, isMixed, notes, more }: Told): string {
  const head = [`${count(hits.length, "hit")} in ${scope}. ${DATA}`, ...notes]
  let left = ROOM - lengthOf([...head, "", MORE, NEXT])
  const rooms = roomOfHits(
    hits.slice(0, AT_LENGTH).map(({ score, whole }) => ({ score, wants: whole?.wants ?? 0 })),
    budget,
  )
  const shown: string[] = []
  for (const [n, { hit, whole }] of hits.entries()) {
    const isLong = n < AT_LENGTH
    const text = isLong
      ? `\n${hitAtLength(hit, whole, isMixed, rooms[n]!, left - 2)}`
      : `${n === AT_LENGTH ? "\n" : ""}${hitLine(hit, isMixed)}`
    if (text.length + 1 > left) break
    shown.push(text)
    left -= text.length + 1
  }
  const isCut = more || shown.length < hits.length
  return [...head, ...shown, "", isCut ? `${MORE} ${NEXT}` : NEXT].join("\n")
}

/** What is like the query in meaning, if a model is installed; without one, words find it alone. */
async function similarTo(
  db: Database,
  world: ServerWorld,
  query: string,
  { project, session, ...narrowing }: Narrowing,
): Promise<SearchRequest["similar"]> {
  if (query === "") return undefined
  try {
    const { similarByModel } = await import("../search/search-by-meaning.ts")
    const isNarrowed = Object.values(narrowing).some(Boolean)
    return await similarByModel(world, db, query, { project, session, isNarrowed })
  } catch (error) {
    logError(world.stateHome, { event: "mcp-search", error })
    return undefined
  }
}

async function vectorFor(world: ServerWorld, query: string): Promise<EntryVector | undefined> {
  const { modelVector } = await import("../search/search-by-meaning.ts")
  const made = await modelVector(world, query)
  return made && { embedder: made.embedder, values: [...made.values] }
}

function sessionWanted(args: Arguments, db: Database): string | undefined {
  const word = args.text("session")
  return word === undefined ? undefined : namedSession(db, word).id
}

/** @throws CtxError when the span is empty */
function span(args: Arguments, now: number): [since: string | undefined, until: string | undefined] {
  const [since, until] = [moment(args, "since", now), moment(args, "until", now)]
  if (since !== undefined && until !== undefined && since >= until) {
    throw usageError("since is not before until", `${since} and ${until}`)
  }
  return [since, until]
}

function moment(args: Arguments, name: string, now: number): string | undefined {
  const text = args.text(name)
  if (text === undefined) return undefined
  const found = momentOf(text, now)
  if (found === undefined) throw usageError(`${name} needs a date or an age`, MOMENTS)
  return found
}
