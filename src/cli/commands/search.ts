/** `ctxbridge search`: finds turns of any session by what was said, run, read or failed. */

import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { count, cut, oneLine, shellWord } from "../../base/text.ts"
import { type Correction, correctionNote, LOOSE_NOTE, partialNote } from "../../find/corrected-query.ts"
import { doubtNote } from "../../find/doubt.ts"
import type { FarAnswer } from "../../find/elsewhere.ts"
import { spanGiven, typedPath } from "../../find/narrowing.ts"
import type { NothingFound } from "../../find/nothing-found.ts"
import { ALSO_ROLES, ROLES } from "../../find/parse-query.ts"
import { type FindRequest, type FindResult, find } from "../../find/search-steps.ts"
import type { FoundTurns } from "../../find/search-turns.ts"
import { OBSERVATION_TYPES, type ObservationType } from "../../record/model-summary.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { type LabelledNames, readLabels } from "../../views/labels.ts"
import { openReady } from "../../views/open.ts"
import { projectNamer } from "../../views/queries/projects.ts"
import { titlesOf } from "../../views/queries/sessions.ts"
import { hasObservations, type Observation } from "../../views/queries/summaries.ts"
import type { VectorTotals } from "../../views/vectors.ts"
import { oneOf, positive, stringArg, words } from "../args.ts"
import { type Command, type Context, flag, naming, option } from "../command.ts"
import { writeError } from "../output.ts"
import {
  AGENT_ARG,
  agentWanted,
  notFound,
  PROJECT_ARGS,
  projectWanted,
  searchScope,
} from "../project-wanted.ts"
import { type AnyHit, layOutHits, renderHits, renderObservations, renderScreen } from "../render-hits.ts"
import { screenOf, timeArg } from "../screen.ts"
import { safe } from "../style.ts"

const LIMIT = 10
/** A line in a pipe has no width; longer ones are hard to read for whoever sees them later. */
const PIPE_COLUMNS = 160
/** UTF-16 units of a query that are repeated. */
const TOLD = 200

const ROLE_WORDS = Object.keys(ROLES) as (keyof typeof ROLES)[]
const MODES = ["auto", "lexical", "semantic", "hybrid"] as const

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
    ...PROJECT_ARGS,
    session: naming("session", "In this session and its subagents", "ID"),
    since: option("From this date or age on (2026-03-02, 7d)", "WHEN"),
    until: option("Before this date or age", "WHEN"),
    role: option("Who said it", ROLE_WORDS.join("|")),
    tool: naming("tool", "Calls of this tool, and their results", "NAME", "t"),
    file: option("In turns that touched this file", "PATH"),
    tag: naming("tag", "In turns with this tag (ctxbridge tag), or of sessions with it", "NAME"),
    error: flag("Only what failed"),
    agent: AGENT_ARG,
    observations: option("Only a model's observations of this type", OBSERVATION_TYPES.join("|")),
    exact: flag("Do not correct typos"),
    limit: option(`At most this many hits (${LIMIT})`, "N", "n"),
    cold: flag("Also search the vault itself, for what the index lacks (slow)"),
    backend: option("Search this sync target (a folder or server) instead", "DIR|URL"),
    everywhere: flag("Also search where sync sends turns"),
    verbose: flag("Show more of each hit: its passages, prompt and answer", "v"),
    mode: option(
      "How: by words and, where they leave something open, by meaning (default); or one, or both",
      MODES.join("|"),
    ),
  },
  rows: {
    list: "hits",
    columns: ["handle", "time", "session", "seq", "role", "tool", "title", "snippet"],
    others: [
      "project",
      "program",
      "uuid",
      "score",
      "by",
      "why",
      "marks",
      "prompt",
      "answer",
      "also",
      "takenBack",
      "label",
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
    const mode = oneOf(args, "mode", MODES) ?? "auto"
    const query = words(args).join(" ")
    const now = Date.now()
    const isAll = args["cold"] === true
    const asked = {
      query,
      limit,
      isExact: args["exact"] === true,
      meaning: mode === "lexical" ? undefined : mode,
      observed: observedIn(context),
      cold: isAll ? "vault" : "first",
      ...(isAll && { onProgress: (...of) => out.progress("searching the vault", ...of, "bytes") }),
      ...narrowingOf(context, now),
    } as const satisfies Omit<FindRequest, "where">
    const [ours] = ["agent", "tag"].filter((name) => args[name] !== undefined)
    if (ours !== undefined && isFar(context))
      throw usageError(`--${ours} is about what is archived here`, "leave out --backend and --everywhere")
    const far = isFar(context) ? await import("../far-targets.ts") : undefined
    const targets = far?.farTargets(context, query) ?? []
    using readers = new CopyReaders()
    if (far !== undefined && (args["everywhere"] !== true || far.isNothingHere(env.dataHome))) {
      const there = { project: projectWanted(context), session: stringArg(args, "session") }
      using db = far.openThere(env.dataHome)
      const request = { ...asked, ...there, where: "elsewhere" } as const
      const found = await find(request, { ...env, db, readers, targets })
      warnOf(found)
      const nameOf = projectNamer(db)
      return printFar(context, found, { query, mode, limit, project: there.project, now, nameOf })
    }
    using db = await opened(env.dataHome)
    const session = await sessionWanted(context, db)
    const { project, note: scope } = searchScope(db, context)
    const request = { ...asked, project, session, where: far === undefined ? "here" : "both" } as const
    const found = await find(request, { ...env, db, readers, targets })
    warnOf(found)
    const { observations, why } = found
    if (found.hits.length === 0 && observations.length === 0) {
      if (why?.unknownTool !== undefined) throw noSuchTool(why.unknownTool)
      if (asked.observed !== undefined && !hasObservations(db))
        throw new CtxError("not-found", "there are no observations yet", {
          hint: SUMMARIZE,
          exit: EXIT.notFound,
        })
      const note =
        asked.observed === undefined
          ? ((await nameNote(db, query)) ?? noteOf(found) ?? hintOn(context, why?.emptiedBy))
          : SUMMARIZE
      throw notFound(db, query, project, { note, because: becauseOf(context, why?.emptiedBy) })
    }
    const named = /^ctx:/i.test(query) ? await nameNote(db, query) : undefined
    const notes = [scope, named ?? noteOf(found)].filter((one) => one !== undefined)
    const note = notes.length > 0 ? notes.join(" ") : undefined
    const answer = answerOf(context, found)
    const titled = { ...answer, hits: withTitles(db, answer.hits) }
    const observed = observations.length > 0 ? { observations } : {}
    if (out.wantsJson)
      out.json({ query, mode, ...(note && { note }), project: project ?? null, ...titled, ...observed })
    else
      print(context, titled, {
        ...{ notes, limit, nameOf: project === undefined ? projectNamer(db) : undefined, now, ...observed },
        linesOf: found.local.linesOf,
      })
  },
} satisfies Command

const SUMMARIZE = "ctxbridge summarize has a model write them"
const CUT = "turns outside the index were searched for one second only; --cold searches them all"
const SOME = "no exact match there; these have some of the words"

/** What opens the turn or session whose name was typed: words are looked for in what was said. */
async function nameNote(db: Database, query: string): Promise<string | undefined> {
  if (/\s/.test(query)) return undefined
  const { findByName } = await import("../../views/by-name.ts")
  const named = tryTo(() => findByName(db, query))
  if (named === undefined) return undefined
  const name = named.kind === "turn" ? named.turn.handle : named.session.id
  return `${name} is a ${named.kind}: ctxbridge show ${shellWord(name)} opens it`
}

/** What the user should know about how it was found. */
function noteOf(found: FindResult): string | undefined {
  const words = aboutWords(found)
  return words === undefined || found.note === undefined
    ? (words ?? found.note)
    : `${words.replace(/\.$/, "")}; ${found.note}`
}

function aboutWords({ hits, cold, local, isTyped, doubt }: FindResult): string | undefined {
  if (cold?.isCut) return CUT
  // What was found elsewhere, or outside the index, has the words as they were typed.
  if (isTyped || hits.some((hit) => "far" in hit)) return undefined
  if (local.isLoose && hits.length > 0 && !hits.some((hit) => "cold" in hit)) return LOOSE_NOTE
  return correctionNote(local.corrections) ?? partialNote(local.partial) ?? (doubt && doubtNote(doubt))
}

/** A target that does not answer is no error where something else was searched. */
function warnOf({ far }: FindResult): void {
  const told = [...(far?.failures ?? []).map(({ message }) => message), far?.leftOut].filter((one) => one)
  if (told.length > 0) writeError(`warning: ${oneLine(safe(told.join("; ")))}\n`)
}

function answerOf({ args }: Context, { hits, more, local, far, cold, isTyped, vectors }: FindResult): Answer {
  const { corrections, partial } = local
  const indexed = {
    ...(far && { far: toldOf(far) }),
    ...(corrections && { corrections }),
    ...(partial && { partial }),
  }
  const isUnreadTold = args["cold"] === true || (cold?.unreadable ?? 0) > 0
  return {
    hits,
    more,
    ...(!isTyped && indexed),
    ...(vectors && { vectors }),
    ...(cold && isUnreadTold && { unreadable: cold.unreadable }),
  }
}

function withTitles(db: Database, hits: readonly AnyHit[]): AnyHit[] {
  const titles = titlesOf(
    db,
    hits.map(({ session }) => session),
  )
  return hits.map((hit) => ({ ...hit, title: titles.get(hit.session) ?? null }))
}

/** What says something of turns, or of where they are. */
const OF_TURNS = ["role", "tool", "file", "tag", "error", "agent", "cold", "backend", "everywhere"]

function observedIn({ args }: Context): ObservationType | undefined {
  const type = oneOf(args, "observations", OBSERVATION_TYPES)
  const other = OF_TURNS.find((name) => args[name] !== undefined && args[name] !== false)
  if (type !== undefined && other !== undefined)
    throw usageError(
      `--observations and --${other} cannot be used together`,
      "observations are a model's, about sessions that are archived here",
    )
  return type
}

/** The filters that hits must pass besides the words. */
function narrowingOf({ args, env }: Context, now: number) {
  const span = spanGiven(timeArg(args, "since", now), timeArg(args, "until", now), "--")
  const file = stringArg(args, "file")
  const role = oneOf(args, "role", ROLE_WORDS, ALSO_ROLES)
  return {
    ...span,
    role: role && ROLES[role],
    tool: stringArg(args, "tool"),
    file: file && typedPath(file, env.cwd, env.home),
    error: args["error"] === true,
    program: agentWanted(args),
    labelled: labelledWith(env.dataHome, stringArg(args, "tag")),
  }
}

/** @throws CtxError exit 3 if nothing has the tag */
function labelledWith(dataHome: string, tag: string | undefined): LabelledNames | undefined {
  if (tag === undefined) return undefined
  const found = readLabels(dataHome).named(tag.replace(/^#/, ""))
  if (found.sessions.length + found.handles.length > 0) return found
  throw new CtxError("not-found", `nothing is tagged ${tag}`, {
    hint: "ctxbridge tag -a lists all tags",
    exit: EXIT.notFound,
  })
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
    const option = optionOf(name)
    const value = stringArg(args, option)
    return name === "error" ? "--error" : value === undefined ? [] : `--${option} ${value}`
  })
  return ` with ${typed.join(" ")}; ${number} without ${typed.length === 1 ? "it" : "them"}`
}

const optionOf = (name: string): string => (name === "program" ? "agent" : name === "labelled" ? "tag" : name)

/** What to leave out, if one filter that was typed is the reason alone. */
function hintOn({ args }: Context, emptied: NothingFound["emptiedBy"]): string | undefined {
  const [name, ...others] = emptied?.filters ?? []
  if (name === undefined || name === "project" || others.length > 0) return undefined
  return args[optionOf(name)] === undefined ? undefined : `leave out --${optionOf(name)}`
}

const isFar = ({ args }: Context): boolean =>
  stringArg(args, "backend") !== undefined || args["everywhere"] === true

interface AskedThere {
  readonly query: string
  readonly mode: string
  readonly limit: number
  readonly project: string | undefined
  readonly now: number
  readonly nameOf: (project: string) => string
}

function printFar(
  context: Context,
  { hits, more, far, local }: FindResult,
  { query, mode, limit, project, now, nameOf }: AskedThere,
): void {
  const { out } = context
  const found = far!.found!
  if (hits.length === 0) {
    throw new CtxError(
      "not-found",
      `nothing at ${found.target} matches ${JSON.stringify(cut(query, TOLD))}`,
      {
        hint:
          project === undefined ? "try fewer or other words" : "--all-projects looks in every project there",
        exit: EXIT.notFound,
      },
    )
  }
  const note = found.share < 1 ? SOME : undefined
  const notes = note === undefined ? [] : [note]
  out.json({ query, mode, project: project ?? null, hits, more, ...(note && { note }), far: toldOf(far!) })
  const also =
    context.args["everywhere"] === true
      ? []
      : [`ctxbridge show HANDLE --backend ${safe(found.target)} opens one.`]
  print(context, { hits, more }, { notes, limit, nameOf, now, linesOf: local.linesOf, also })
}

/** The target that answered, and what the others said. */
const toldOf = ({ found, failures }: FarAnswer) => ({
  target: found?.target ?? null,
  failures: failures.map(({ code, message }) => ({ code, message })),
})

interface Answer {
  readonly hits: readonly AnyHit[]
  readonly more: boolean
  readonly far?: ReturnType<typeof toldOf>
  readonly corrections?: readonly Correction[]
  readonly partial?: readonly string[]
  /** How many turns there are, and how many of them can be found by meaning. */
  readonly vectors?: VectorTotals
  /** Number of copies that a search of the vault could not read. */
  readonly unreadable?: number
}

interface Shown {
  /** What the user should know about where and how it was found, a line each. */
  readonly notes: readonly string[]
  readonly limit: number
  readonly nameOf: Parameters<typeof renderHits>[2]
  readonly now: number
  readonly observations?: readonly Observation[]
  readonly linesOf: FoundTurns["linesOf"]
  /** What follows, a line each. */
  readonly also?: readonly string[]
}

function print({ args, out }: Context, { hits, more, unreadable }: Answer, shown: Shown): void {
  const { notes, limit, nameOf, now, observations = [], linesOf, also = [] } = shown
  const above = notes.map(safe)
  const below = [
    ...(more ? [`More with --limit ${limit * 3}.`] : []),
    ...(unreadable
      ? [`${count(unreadable, "copy", "copies")} could not be read: ctxbridge verify names them.`]
      : []),
    ...also,
  ]
  const screen = screenOf(out, now)
  if (args["verbose"] !== true) {
    const columns = out.terminal ? out.columns : PIPE_COLUMNS
    const found = { hits, observations, above, below, nameOf, linesOf }
    out.print(renderScreen(found, { ...screen, columns }))
    return
  }
  out.print(above)
  out.print((out.terminal ? layOutHits : renderHits)(hits, screen, nameOf))
  if (observations.length > 0) {
    const gap = hits.length > 0 ? [""] : []
    out.print([...gap, ...renderObservations(observations, screen)])
  }
  out.print(below)
}

async function sessionWanted({ args }: Context, db: Database): Promise<string | undefined> {
  const word = stringArg(args, "session")
  return word === undefined
    ? undefined
    : (await import("../../views/by-name.ts")).findSessionByName(db, word).id
}

async function opened(dataHome: string): Promise<Database> {
  const ready = openReady(dataHome)
  if (ready !== undefined) return ready
  const { openCurrent } = await import("../../views/open-current.ts")
  const { startRenewing } = await import("../../job/spawn.ts")
  return openCurrent(dataHome, "command", startRenewing)
}
