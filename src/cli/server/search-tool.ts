/** `search`: the best hits with their passages, so that most questions are answered by one call. */

import { usageError } from "../../base/errors.ts"
import { MOMENTS, momentOf } from "../../base/local-time.ts"
import { cut } from "../../base/text.ts"
import { type FarHit, refuseUnknown } from "../../find/elsewhere.ts"
import type { Hit } from "../../find/hit.ts"
import { type Narrowing, spanGiven, typedPath } from "../../find/narrowing.ts"
import { parseQuery, ROLES } from "../../find/parse-query.ts"
import { type FindRequest, find, type Order } from "../../find/search-steps.ts"
import type { FoundTurns } from "../../find/search-turns.ts"
import { startRenewing } from "../../job/spawn.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import type { Arguments } from "./arguments.ts"
import { type WholeHit, wholeHit } from "./hit-passages.ts"
import {
  AT_LENGTH,
  coldAnswer,
  coldLines,
  doubts,
  farNotes,
  nothingIn,
  type OpenedHit,
  othersLine,
  projectName,
  reasons,
  searchAnswer,
  USUAL_HITS,
} from "./search-answer.ts"
import { observationLines } from "./told-observation.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"
import { knownProjectIn, namedSession } from "./what-is-meant.ts"

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
    using db = openCurrent(world.dataHome, "command", startRenewing)
    using readers = new CopyReaders()
    const { request, scope } = wanted(args, db, world, limit)
    const closest = new ClosestFirst(db, world.dataHome, readers, request)
    const found = await find({ ...request, order: closest }, { ...world, db, readers })
    const isMixed = request.project === undefined
    const cold = found.cold === undefined ? [] : coldLines(found.cold, isMixed)
    const notes = [
      ...(found.far === undefined ? [] : farNotes(found.far)),
      ...(found.others === undefined ? [] : [othersLine(found.others)]),
      ...cold,
    ]
    const below = observationLines(found.observations)
    if (found.indexed.length === 0) {
      if (cold.length > 0) return { text: [coldAnswer(scope, notes), ...below].join("\n") }
      const why = found.why === undefined ? [] : reasons(found.why)
      return { text: [nothingIn(scope, isMixed, below.length > 0), ...why, ...notes, ...below].join("\n") }
    }
    // What is elsewhere has the words as they were typed.
    const isThere = found.far?.found?.hits.some(({ handle }) => !closest.has(handle)) === true
    const doubtful = isThere ? [] : doubts(found.local)
    const asked = { limit, scope, isMixed, notes: [...doubtful, ...notes], below }
    const hits = found.indexed.map((hit) => closest.opened(hit, found.far?.found !== undefined))
    return { text: searchAnswer(hits, { ...asked, more: found.more }) }
  },
}

interface WantedSearch {
  readonly request: FindRequest
  /** Where is searched, in words. */
  readonly scope: string
}

/** @throws CtxError for a session or moment that is none, and for what a target cannot be asked */
function wanted(args: Arguments, db: Database, world: ServerWorld, limit: number): WantedSearch {
  const word = args.text("session")
  const session = word === undefined ? undefined : namedSession(db, word).id
  const own = knownProjectIn(db, world)
  const project = args.flag("all_projects") || session !== undefined ? undefined : own
  const now = world.now()
  const span = spanGiven(moment(args, "since", now), moment(args, "until", now), "")
  const file = args.text("file")
  const request = {
    query: args.text("query") ?? "",
    limit,
    project,
    session,
    ...span,
    role: args.text("role"),
    tool: args.text("tool"),
    file: file && typedPath(file, world.folder, world.home),
    error: args.flag("error"),
    isBrief: true,
    meaning: "installed",
    where: args.flag("everywhere") ? "both" : "here",
    cold: "apart",
    tellsOthers: true,
  } as const satisfies FindRequest
  if (request.where === "both") refuseThere(request)
  const where = project === undefined ? "all projects" : `this project (${projectName(own)})`
  return { request, scope: session === undefined ? where : "the session" }
}

function refuseThere({ query, role, error }: FindRequest): void {
  if (role !== undefined || error === true)
    throw usageError("role and error are not known elsewhere", "leave them out, or search without everywhere")
  refuseUnknown(parseQuery(query))
}

function moment(args: Arguments, name: string, now: number): string | undefined {
  const text = args.text(name)
  if (text === undefined) return undefined
  const found = momentOf(text, now)
  if (found === undefined) throw usageError(`${name} needs a date or an age`, MOMENTS)
  return found
}

/** Bytes of all turns that are opened: more would take longer than a second. */
const LARGEST = 16 << 20
/** The share of the words that is supposed to be together in a turn that is too large to look. */
const UNKNOWN = 0.5
/** How many of the best hits compete for the places at length. */
const LOOKED_AT = 12

/**
 * Orders hits by what a reader would take for the answer. A turn is found by the words of all its messages, which may be
 * far apart; an answer has them in one place. So first come the hits that are best by their score times the share of
 * the query's words that is together in one place, then the others as they were found: what one of the two orders holds
 * for the answer is at least listed.
 *
 * Order and place stay as they were found by meaning, which knows no words, and by what a message is, which another one
 * of the turn is not.
 */
class ClosestFirst implements Order {
  readonly among = LOOKED_AT
  readonly #opened = new Map<string, OpenedHit>()
  readonly #open: (found: FoundTurns, hit: Hit, most: number, isFree: boolean) => ReturnType<typeof wholeHit>
  readonly #isAboutMessages: boolean

  constructor(db: Database, dataHome: string, readers: CopyReaders, { role, tool, error }: Narrowing) {
    this.#open = (found, hit, most, isFree) => wholeHit(db, dataHome, readers, found, hit, { most, isFree })
    this.#isAboutMessages = role !== undefined || tool !== undefined || error === true
  }

  put(found: FoundTurns, isByMeaning: boolean): Hit[] {
    const byWords = !isByMeaning && !this.#isAboutMessages && found.terms.length > 0
    let left = LARGEST
    const opened = found.hits.map((hit, n) => {
      const whole = n < LOOKED_AT ? this.#open(found, hit, left, byWords) : undefined
      left -= whole?.bytes ?? 0
      const score = byWords ? hit.score * (whole?.together ?? UNKNOWN) : hit.score
      this.#opened.set(hit.handle, { hit, whole, score })
      return { hit, score }
    })
    if (!byWords) return [...found.hits]
    const first = opened
      .slice(0, LOOKED_AT)
      .sort((a, b) => b.score - a.score)
      .slice(0, AT_LENGTH)
    return [...first, ...opened.filter((one) => !first.includes(one))].map(({ hit }) => hit)
  }

  /** Whether it was found here. */
  has(handle: string): boolean {
    return this.#opened.has(handle)
  }

  /** @param isMerged whether hits from elsewhere are among them, by whose places they are scored */
  opened(hit: Hit | FarHit, isMerged: boolean): OpenedHit {
    const known = this.#opened.get(hit.handle)
    const whole = known?.whole ?? ("far" in hit ? snippetOf(hit) : undefined)
    return { hit, whole, score: isMerged ? hit.score : (known?.score ?? hit.score) }
  }
}

/** What was found elsewhere is not opened: its passages came with it. */
const snippetOf = ({ snippet }: FarHit): WholeHit => ({
  together: 1,
  wants: snippet.length,
  lines: () => ({ at: undefined, of: 0 }),
  passages: (room) => [{ role: "turn", text: cut(snippet, room) }],
})
