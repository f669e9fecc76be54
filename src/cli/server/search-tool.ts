/** `search`: the best hits with their passages, so that most questions are answered by one call. */
import { agentTitle } from "../../agents/agents.ts"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { MOMENTS, momentOf } from "../../base/local-time.ts"
import { isNotesSession } from "../../base/session-id.ts"
import { count, cut, lengthOf } from "../../base/text.ts"
import type { ColdFound } from "../../find/cold.ts"
import { correctionNote, partialNote } from "../../find/corrected-query.ts"
import { type Doubt, doubtNote } from "../../find/doubt.ts"
import { type FarAnswer, type FarHit, refuseUnknown } from "../../find/elsewhere.ts"
import type { Hit } from "../../find/hit.ts"
import { roomOfHits } from "../../find/hit-budget.ts"
import { type Narrowing, spanGiven, typedPath } from "../../find/narrowing.ts"
import type { NothingFound } from "../../find/nothing-found.ts"
import { parseQuery, ROLES } from "../../find/parse-query.ts"
import { type FindRequest, type FindResult, find, type Order } from "../../find/search-steps.ts"
import type { FoundTurns } from "../../find/search-turns.ts"
import { startRenewing } from "../../job/spawn.ts"
import { name } from "../../restore/quote.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { shortNameOf } from "../../views/project.ts"
import { projectNamer } from "../../views/queries/projects.ts"
import { movedText } from "../../views/queries/touched-files.ts"
import { observationLines } from "./get-tool.ts"
import {
  DATA,
  minute,
  nameOr,
  plain,
  safeError,
  sharedBy,
  strange,
  toldLabels,
  type WholeHit,
  wholeHit,
} from "./hit-passages.ts"
import {
  AGENT_PROPERTY,
  type Arguments,
  knownProjectIn,
  namedSession,
  type ServerTool,
  type ServerWorld,
} from "./tool.ts"

/*
 * The answer of `search`: the best hits at length, a line for each other one, within its room; what may be wrong with
 * them, and what else there is. Pure.
 */

type AnyHit = Hit | FarHit

interface OpenedHit {
  readonly hit: AnyHit
  /** Undefined if the turn was not opened. */
  readonly whole: WholeHit | undefined
  /** The higher the better; comparable within a result only. */
  readonly score: number
}

/** How many hits are shown at length. */
const AT_LENGTH = 3
/** Hits when no number is asked for. */
const USUAL_HITS = 8
/** UTF-16 units of everything, and of the passages of all hits. */
const ROOM = 3000
const PASSAGES = 2100
const LEAST_PASSAGES = 1000
/** What a line takes of the passages' room when more of them are asked for. */
const TAKEN = 100

const NEXT = "Next: `get` with one or several handles as written (@: line of the match) and the query."
const MORE = "There are more hits: other words or filters."

type ProjectNamer = (project: string) => string

interface Asked {
  readonly limit: number
  readonly scope: string
  /** Names the projects of hits, if they may be of several. */
  readonly nameOf: ProjectNamer | undefined
  /** What is doubtful of them, and what else there is, a line each. */
  readonly notes: readonly string[]
  /** What follows the hits. */
  readonly below: readonly string[]
  /** Whether there are more hits. */
  readonly more: boolean
}

/** @param hits in the order in which they are shown */
function searchAnswer(
  hits: readonly OpenedHit[],
  { limit, scope, nameOf, notes, below, more }: Asked,
): string {
  const head = [`${count(hits.length, "hit")} in ${scope}. ${DATA}`, ...notes]
  let left = ROOM - lengthOf([...head, "", MORE, NEXT, ...below])
  const budget = Math.max(LEAST_PASSAGES, PASSAGES - TAKEN * Math.max(0, limit - USUAL_HITS))
  const rooms = roomOfHits(
    hits.slice(0, AT_LENGTH).map(({ score, whole }) => ({ score, wants: whole?.wants ?? 0 })),
    budget,
  )
  const shown: string[] = []
  for (const [n, { hit, whole }] of hits.entries()) {
    const text =
      n < AT_LENGTH
        ? `\n${hitAtLength(hit, whole, nameOf, rooms[n]!, left - 2)}`
        : `${n === AT_LENGTH ? "\n" : ""}${hitLine(hit, nameOf)}`
    if (text.length + 1 > left) break
    shown.push(text)
    left -= text.length + 1
  }
  const isCut = more || shown.length < hits.length
  return [...head, ...shown, "", isCut ? `${MORE} ${NEXT}` : NEXT, ...below].join("\n")
}

/** @param isQuoting whether something is quoted below it all the same */
const nothingIn = (scope: string, isMixed: boolean, isQuoting: boolean): string =>
  `0 hits in ${scope}. Nothing found: try fewer or other words, fewer filters${isMixed ? "" : " or all_projects"}.` +
  (isQuoting ? ` ${DATA}` : "")

/** When only turns out of the index were found, a line each. */
const coldAnswer = (scope: string, lines: readonly string[]): string =>
  [`0 hits in the index of ${scope}. ${DATA}`, ...lines, NEXT].join("\n")

/** Turns out of the index that have more of the words than what is in it, a line each. */
function coldLines({ hits, isCut }: ColdFound, nameOf: ProjectNamer | undefined): string[] {
  if (hits.length === 0) return []
  const lines = hits.map((hit) => hitLine({ ...hit, handle: hit.handle!, seq: hit.seq!, score: 1 }, nameOf))
  return [`Older, out of the index${isCut ? ", as far as they were looked through" : ""}:`, ...lines]
}

/**
 * How many turns other projects have, if their best is better. What is in them is for whoever asks: this project's
 * conversation may be read by others than theirs.
 */
const othersLine = ({ turns, more }: NonNullable<FindResult["others"]>): string =>
  `Other projects have better matches: ${more ? "at least " : ""}${count(turns, "turn")}; all_projects searches there.`

/** What did not answer elsewhere, and what was left out of what did. */
function farNotes({ failures, leftOut }: FarAnswer): string[] {
  const told = failures.map(({ message }) => safeError(message)).join("; ")
  return [
    ...(failures.length === 0 ? [] : [`Not searched elsewhere: ${told}.`]),
    ...(leftOut === undefined ? [] : [`${safeError(leftOut)}.`]),
  ]
}

const sentence = (note: string): string => `${note.slice(0, 1).toUpperCase()}${note.slice(1)}.`

/** UTF-16 units of a line's text. */
const LINE = 48
/** How many of them may precede the first word that was searched for. */
const LEAD = 24
/** The least that a text is shortened to. */
const LEAST = 80

/**
 * A hit at length, quoted as JSON strings, so that nothing in it can end its quotation.
 *
 * @param room UTF-16 units for its passages
 * @param most for everything; what is beyond it is left out
 */
function hitAtLength(
  hit: AnyHit,
  whole: WholeHit | undefined,
  nameOf: ProjectNamer | undefined,
  room: number,
  most: number,
): string {
  const lines = whole?.lines()
  const head = `${hit.handle}${lines?.at === undefined ? "" : `@${lines.at}`} ${about(hit, lines, nameOf)}`
  const passages = whole?.passages(room) ?? [{ role: hit.role ?? "turn", text: hit.snippet }]
  let left = most - head.length
  return passages.reduce((text, { role, text: words }) => {
    const quoted = role === "human" || role === "assistant" ? plain : strange
    const line = `\n  ${role}: ${fitting(words, left - role.length - 6, quoted)}`
    if (line.length > left) return text
    left -= line.length
    return text + line
  }, head)
}

type Quoting = (text: string, limit: number) => string

/** Escapes take room as well. */
function fitting(words: string, room: number, quoted: Quoting): string {
  let limit = Math.max(LEAST, room)
  for (let tries = 0; ; tries++) {
    const line = JSON.stringify(quoted(words, limit))
    if (line.length <= room + 2 || limit <= LEAST || tries === 4) return line
    limit = Math.max(LEAST, limit - (line.length - room))
  }
}

function about(
  hit: AnyHit,
  lines: ReturnType<WholeHit["lines"]> | undefined,
  nameOf: ProjectNamer | undefined,
): string {
  return [
    ...(nameOf || "far" in hit ? [projectName(hit.project, nameOf ?? shortNameOf)] : []),
    `session ${sessionName(hit.session)} turn ${hit.seq}`,
    minute(hit.time),
    speakerOf(hit),
    ...(lines?.at === undefined ? [] : [`line ${lines.at} of ${lines.of}`]),
    ...marksOf(hit),
  ].join(", ")
}

/** One line for a hit. */
function hitLine(hit: AnyHit, nameOf: ProjectNamer | undefined): string {
  const where = [
    ...(nameOf || "far" in hit ? [projectName(hit.project, nameOf ?? shortNameOf)] : []),
    minute(hit.time),
    speakerOf(hit),
  ].join(", ")
  const said = JSON.stringify(quotingOf(hit)(around(hit.snippet, hit.marks), LINE))
  return `${hit.handle} ${where}: ${said}${marksOf(hit)
    .map((mark) => ` (${mark})`)
    .join("")}`
}

const marksOf = (hit: AnyHit): string[] => [
  ...(hit.program === undefined ? [] : [`a session of ${agentTitle(hit.program)}`]),
  ...("others" in hit ? ["written by others"] : []),
  ...(hit.takenBack ? ["rewound"] : []),
  ...("label" in hit ? toldLabels(hit.label) : []),
  ...("changedSince" in hit && hit.changedSince !== undefined ? [movedText(hit.changedSince)] : []),
  ...(hit.isLost ? ["its copy is missing"] : []),
  ...("promptsOnly" in hit ? ["prompts only"] : []),
  ...("far" in hit ? [whence(hit.far)] : []),
  ...(hit.by === "meaning" ? ["by meaning"] : []),
]

const whence = ({ machine, by }: FarHit["far"]): string =>
  by === null ? `from ${name(machine ?? "another machine", 40)}` : sharedBy(by)

/** Who said it, or the name of the tool. */
const speakerOf = ({ session, role, tool }: AnyHit): string =>
  isNotesSession(session) ? "note by the model" : tool === null ? (role ?? "turn") : nameOr(tool, "tool")

const quotingOf = ({ session, role, tool }: AnyHit): Quoting =>
  isNotesSession(session) || (tool === null && (role === "human" || role === "assistant")) ? plain : strange

const projectName = (project: string | null, nameOf: (project: string) => string | undefined): string =>
  name((project && nameOf(project)) || "unknown", 40)

/** As much of Claude Code's name of a session as tells it from others. */
const sessionName = (session: string): string =>
  /^[\da-f]{8}-[\da-f]{4}-/.test(session) ? session.slice(0, 8) : name(session, 24)

/** Starts the snippet late enough that the first word that was searched for is within what is shown. */
function around(snippet: string, [first]: Hit["marks"]): string {
  const from = first === undefined || first[1] < LINE - LEAD ? 0 : first[0] - LEAD
  return from <= 0 ? snippet : `…${snippet.slice(from).replace(/^[\udc00-\udfff]/, "")}`
}

/** What the model should know before it takes a result for the answer. */
function doubts(
  { hits, isLoose, corrections, partial = [] }: FoundTurns,
  doubt: Doubt | undefined,
): string[] {
  if (hits.length === 0) return []
  const corrected = correctionNote(corrections)
  if (corrected !== undefined) return [corrected]
  const whole = partialNote(partial.map((name) => plain(name, 120)))
  if (whole !== undefined) return [whole]
  if (isLoose) return ["No exact match; these have some of the words."]
  return doubt === undefined ? [] : [plain(doubtNote(doubt), 400)]
}

/**
 * Why nothing was found, as far as filters are the reason.
 *
 * @throws CtxError for a tool that nobody has: that is a wrong argument, not a search without hits
 */
function reasons({ unknownTool, emptiedBy }: NothingFound): string[] {
  if (unknownTool !== undefined) {
    const near = unknownTool.near.map((name) => nameOr(name, "")).filter(Boolean)
    throw new CtxError(
      "not-found",
      `no call of a tool named ${JSON.stringify(unknownTool.name)} is archived`,
      {
        hint:
          near.length > 0
            ? `did you mean ${near.join(" or ")}?`
            : "without tool, hits name the tools there are",
        exit: EXIT.notFound,
      },
    )
  }
  // That other projects have some is told besides.
  if (emptiedBy === undefined || emptiedBy.filters.includes("project")) return []
  const { filters, turns, isMore } = emptiedBy
  return [
    `Without ${filters.map((one) => (one === "program" ? "agent" : one)).join(", ")}: ${isMore ? "more than " : ""}${count(turns, "turn")}.`,
  ]
}

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
    role: { type: "string", description: "Only what was said by", enum: Object.values(ROLES) },
    tool: { type: "string", description: "Only calls and results of this tool, e.g. Bash" },
    file: { type: "string", description: "Only turns that touched this file; src/ or *.ts: these files" },
    error: { type: "boolean", description: "Only what failed" },
    agent: AGENT_PROPERTY,
    since: { type: "string", description: "From then on: 2026-03-01, 7d, 12h (ago)" },
    until: { type: "string", description: "Before then" },
    limit: { type: "integer", description: `Hits, at most (${USUAL_HITS})`, minimum: 1, maximum: MOST },
  },
  withTarget: {
    everywhere: {
      type: "boolean",
      description:
        "Also what the user's other machines have sent, and what others share with the user (far: handles)",
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
    const nameOf = isMixed ? projectNamer(db) : undefined
    const cold = found.cold === undefined ? [] : coldLines(found.cold, nameOf)
    const notes = [
      ...(found.note === undefined ? [] : [sentence(found.note)]),
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
    const doubtful = isThere ? [] : doubts(found.local, found.doubt)
    const asked = { limit, scope, nameOf, notes: [...doubtful, ...notes], below }
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
    program: args.text("agent"),
    isBrief: true,
    meaning: "auto",
    where: args.flag("everywhere") ? "both" : "here",
    cold: "apart",
    tellsOthers: true,
  } as const satisfies FindRequest
  if (request.where === "both") refuseThere(request)
  const where =
    project === undefined ? "all projects" : `this project (${projectName(own, projectNamer(db))})`
  return { request, scope: session === undefined ? where : "the session" }
}

function refuseThere({ query, role, error, program }: FindRequest): void {
  if (role !== undefined || error === true || program !== undefined)
    throw usageError(
      "role, error and agent are not known elsewhere",
      "leave them out, or search without everywhere",
    )
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
