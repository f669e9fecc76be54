/** `search`: the best hits with their passages, so that most questions are answered by one call. */
import type { Database } from "../archive/database.ts"
import { shortNameOf } from "../archive/project.ts"
import type { EntryVector } from "../backends/entry.ts"
import { openToRead } from "../job/open-to-read.ts"
import { localFinder } from "../search/local-finder.ts"
import type { Narrowing } from "../search/narrowing.ts"
import { whyNothing } from "../search/nothing-found.ts"
import { observationsFor } from "../search/observations.ts"
import { ROLES } from "../search/parse-query.ts"
import type { SearchRequest } from "../search/search-turns.ts"
import { logError } from "../util/log.ts"
import { CopyReaders } from "../vault/reader.ts"
import { closestFirst, LOOKED_AT } from "./closest-first.ts"
import { coldLines } from "./cold-lines.ts"
import { betterElsewhere, doubts, reasons } from "./doubts.ts"
import { withFarTurns } from "./far-turns.ts"
import { coldAnswer, nothingIn, searchAnswer, USUAL_HITS } from "./search-answer.ts"
import { searchWanted, type WantedSearch } from "./search-wanted.ts"
import { observationLines } from "./told-observation.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"

const MOST = 30

export const searchTool: ServerTool = {
  name: "search",
  title: "Search earlier sessions",
  description:
    "Find what was said, decided, run, read or failed in earlier (and this) sessions. Returns the best hits with passages, " +
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
    limit: { type: "integer", description: `Hits, at most (${USUAL_HITS})`, minimum: 1, maximum: MOST },
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
    const limit = args.number("limit") ?? USUAL_HITS
    using db = openToRead(world.dataHome)
    using readers = new CopyReaders()
    const wanted = searchWanted(args, db, world)
    const { query, filters, session, project, own, scope } = wanted
    const similar = await similarTo(db, world, wanted)
    const request = { query, isBrief: true, session, similar, ...filters }
    const finder = localFinder(db, world.dataHome, readers)
    const found = finder.find({ ...request, limit: Math.max(limit, LOOKED_AT), project })
    const isMixed = project === undefined
    const isAsFound = similar !== undefined || isAboutMessages(filters)
    const opened = closestFirst(db, world.dataHome, readers, found, isAsFound)
    const isFar = args.flag("everywhere")
    const far = isFar
      ? await withFarTurns(
          world,
          found,
          opened,
          { ...filters, query, limit, session, projectName: project && shortNameOf(project) },
          db,
          similar && (await vectorFor(world, query)),
        )
      : { hits: opened, more: found.more || opened.length > limit, notes: [] }
    const everywhere = () => finder.find({ ...request, limit, similar: undefined })
    const elsewhere = isMixed || isFar ? [] : betterElsewhere(everywhere, found, own)
    const cold = await coldLines(db, world.dataHome, { ...request, limit, project }, found, isMixed)
    const notes = [...far.notes, ...elsewhere, ...cold]
    const below = observationLines(observationsFor(db, query, { ...filters, project, session }))
    if (far.hits.length === 0) {
      if (cold.length > 0) return { text: [coldAnswer(scope, notes), ...below].join("\n") }
      const why = reasons(whyNothing(db, world.dataHome, { ...request, limit, project }, readers))
      return { text: [nothingIn(scope, isMixed, below.length > 0), ...why, ...notes, ...below].join("\n") }
    }
    const doubtful = far.hits.some(({ hit }) => "far" in hit) ? [] : doubts(found)
    const more = far.more || far.hits.length > limit
    const asked = { limit, scope, isMixed, notes: [...doubtful, ...notes], below, more }
    return { text: searchAnswer(far.hits.slice(0, limit), asked) }
  },
}

/** Whether the filters say what a message must be, and not only its turn. */
const isAboutMessages = ({ role, tool, error }: Narrowing): boolean =>
  role !== undefined || tool !== undefined || error === true

/** What is like the query in meaning, if a model is installed; without one, words find it alone. */
async function similarTo(
  db: Database,
  world: ServerWorld,
  { query, project, session, filters }: WantedSearch,
): Promise<SearchRequest["similar"]> {
  if (query === "") return undefined
  try {
    const { similarByModel } = await import("../search/search-by-meaning.ts")
    const isNarrowed = Object.values(filters).some(Boolean)
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
