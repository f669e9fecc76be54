/** `search`: an index of hits, about 60 tokens each. */
import type { Database } from "../archive/database.ts"
import { isNotesSession } from "../archive/notes-session.ts"
import { openForReading } from "../archive/open-for-reading.ts"
import { correctionNote } from "../search/corrected-query.ts"
import type { Hit } from "../search/hit.ts"
import { localFinder } from "../search/local-finder.ts"
import { typedPath } from "../search/narrowing.ts"
import { ROLES } from "../search/parse-query.ts"
import { usageError } from "../util/errors.ts"
import { MOMENTS, momentOf } from "../util/parse-moment.ts"
import { count } from "../util/text.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { Arguments } from "./arguments.ts"
import { DATA, minute, nameOr, plain, strange } from "./quoting.ts"
import type { ServerTool } from "./tool.ts"
import { namedSession, projectIn } from "./what-is-meant.ts"

const LIMIT = 8
const MOST = 30
/** UTF-16 units shown of a hit: about 60 tokens including its handle and time. */
const SHOWN = 170
const ASKED = 60
const NOT_EXACT = "No exact match; these have some of the words."
/** How many of these may precede the first word that was searched for. */
const LEAD = 40

export const searchTool: ServerTool = {
  name: "search",
  title: "Search earlier sessions",
  description:
    "Find turns of earlier (and this) sessions by what was said, run, read or failed. Returns an index: handles with a " +
    "line each, best first. Then `timeline` or `get` with a handle. An empty query lists the newest that the filters " +
    "leave. This project only, unless all_projects.",
  properties: {
    query: {
      type: "string",
      description: 'Words, names, paths or an error; also AND, OR, NOT, "a phrase", begin*',
    },
    limit: { type: "integer", description: `Hits, at most (${LIMIT})`, minimum: 1, maximum: MOST },
    all_projects: { type: "boolean", description: "Search every project" },
    session: { type: "string", description: "Only this session (id or its beginning)" },
    role: {
      type: "string",
      description: "Only what was said by",
      enum: ROLES,
    },
    tool: { type: "string", description: "Only calls and results of this tool, e.g. Bash" },
    file: { type: "string", description: "Only turns that touched this file; src/ or *.ts: these files" },
    error: { type: "boolean", description: "Only what failed" },
    since: { type: "string", description: "From this time on: 2026-03-01, 7d, 12h (ago)" },
    until: { type: "string", description: "Before then" },
  },
  required: ["query"],
  readOnly: true,
  always: true,
  run(args, world) {
    const query = args.text("query") ?? ""
    const limit = args.number("limit") ?? LIMIT
    using db = openForReading(world.dataHome)
    using readers = new CopyReaders()
    const session = sessionWanted(args, db)
    const everywhere = args.flag("all_projects") || session !== undefined
    const [since, until] = span(args, world.now())
    const file = args.text("file")
    const { hits, more, isLoose, corrections } = localFinder(db, world.dataHome, readers).find({
      query,
      limit,
      isBrief: true,
      project: everywhere ? undefined : projectIn(world),
      session,
      since,
      until,
      role: args.text("role"),
      tool: args.text("tool"),
      file: file && typedPath(file, world.folder, world.home),
      error: args.flag("error"),
    })
    const scope = session !== undefined ? "the session" : everywhere ? "all projects" : "this project"
    const found = hits.map(shownOf)
    const next = nextStep(hits.length, more, everywhere, limit)
    const note = isLoose && hits.length > 0 ? NOT_EXACT : correctionNote(corrections)
    const exact = note === undefined ? {} : { exact: note }
    const head = `${count(hits.length, "hit")} in ${scope}. ${note === undefined ? "" : `${note} `}${DATA}`
    return {
      text: [head, ...found.map(lineOf), next].join("\n"),
      structured: { note: DATA, scope, ...exact, hits: found, more, next },
    }
  },
}

interface Shown {
  readonly handle: string
  readonly time: string
  /** Who said it, or the name of the tool. */
  readonly by: string
  readonly text: string
  /** The turn's prompt, if that is not what was found. */
  readonly prompt?: string
  /** The user took the turn back. */
  readonly taken_back?: true
}

function shownOf({ handle, session, time, role, tool, snippet, marks, prompt, takenBack }: Hit): Shown {
  const by = isNotesSession(session) ? "note" : role
  const quoted = ["human", "assistant", "note"].includes(by) ? plain : strange
  return {
    handle,
    time: minute(time),
    by: tool === null ? by : nameOr(tool, "tool"),
    text: quoted(around(snippet, marks), SHOWN),
    ...(prompt === null ? {} : { prompt: plain(prompt, ASKED) }),
    ...(takenBack ? { taken_back: true } : {}),
  }
}

/** Starts the snippet late enough that the first word that was searched for is within what is shown. */
function around(snippet: string, [first]: Hit["marks"]): string {
  const from = first === undefined || first[1] < SHOWN - LEAD ? 0 : first[0] - LEAD
  return from <= 0 ? snippet : `…${snippet.slice(from).replace(/^[\udc00-\udfff]/, "")}`
}

/** Quoted text is escaped as JSON, so nothing in it can end its quotation. */
function lineOf({ handle, time, by, text, prompt, taken_back: isTakenBack }: Shown): string {
  const asked = prompt === undefined ? "" : ` (asked: ${JSON.stringify(prompt)})`
  return `${handle} ${time} ${by}: ${JSON.stringify(text)}${asked}${isTakenBack ? " (taken back)" : ""}`
}

function nextStep(hits: number, more: boolean, everywhere: boolean, limit: number): string {
  if (hits === 0) {
    const wider = everywhere ? "" : " or all_projects"
    return `Nothing found: try fewer or other words, fewer filters${wider}.`
  }
  return more && limit < MOST ? "A larger limit shows more." : "`get` opens one of them."
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
