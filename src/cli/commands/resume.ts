/** `ctxbridge resume`: goes on with a session in its folder, with its agent, written back first if that has deleted it. */

import { randomUUID } from "node:crypto"
import { agentTitle, commandLineOf, UNMARKED } from "../../agents/agents.ts"
import { CtxError, codeOf, EXIT, usageError } from "../../base/errors.ts"
import { basename, dirname, join } from "../../base/path.ts"
import { count, cut, oneLine } from "../../base/text.ts"
import { projectFolder } from "../../claude/places.ts"
import { withAgentFolder } from "../../config/load.ts"
import { find } from "../../find/search-steps.ts"
import { startRenewing } from "../../job/spawn.ts"
import { jsonText, objectOf, parseLine, stringOf } from "../../record/json.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { sessionsNamed, titlesOf } from "../../views/queries/sessions.ts"
import { turnId } from "../../views/queries/turns.ts"
import { linesOfTurn, type Turn, turnsBeforeFork, turnsOfSession } from "../../views/turn.ts"
import { stringArg, words } from "../args.ts"
import { type Command, type Context, flag, naming, option } from "../command.ts"
import { chosenOf, YES_ARG } from "../confirm.ts"
import { writeError } from "../output.ts"
import {
  type Resume,
  type Resurrected,
  sessionLines,
  writeSessionCopy,
} from "../pages/put-back-transcript.ts"
import { promptsOnly, resurrect, sessionsInVault } from "../pages/resurrect-sessions.ts"
import { AGENT_ARG, agentWanted, notFound, PROJECT_ARGS, searchScope } from "../project-wanted.ts"
import { repositoryOf, resumeLine, versionLines } from "../resume-line.ts"
import { ago, timeArg } from "../screen.ts"
import { dotted, safe } from "../style.ts"

/** Hits among which there may be a session that can be resumed. */
const MOST_HITS = 20

export default {
  meta: { name: "resume", description: "Resume a session, even a deleted one" },
  args: {
    what: {
      type: "positional",
      required: true,
      rest: true,
      names: "session",
      description: "A session's id, a turn's handle, or words that were said in it",
    },
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
    since: option("Whose words were said from this date or age on (2026-03-02, 7d)", "WHEN"),
    ...YES_ARG,
    from: naming("turn", "Go on from this turn: a copy of the session up to it", "TURN"),
    here: flag("Go on in this folder if its own is gone, with a copy"),
    print: flag("Print the command instead of starting it"),
    "dry-run": flag("The same, and write nothing"),
  },
  async run(context) {
    const { args, env, out } = context
    const dryRun = args["dry-run"] === true
    const isPrinted = dryRun || args["print"] === true || out.wantsJson
    const { candidates, match } = await sessionsMeant(context)
    // The document names them all.
    const isFirst = args["print"] === true || (dryRun && out.wantsJson)
    const chosen = isFirst ? candidates[0] : chosenAmong(context, candidates, match)
    if (chosen === undefined) {
      out.print("Nothing was resumed")
      return EXIT.failed
    }
    const { session } = chosen
    // On stderr, because stdout has the command, or is the agent's.
    if (chosen.by !== "name" && !out.wantsJson)
      tell(isFirst ? toldAll(context, candidates, match) : [told(chosen)])
    const inPlace = (dry: boolean): Resurrected | undefined =>
      resurrect(sessionsInVault(env.dataHome, [session]), {
        ...env,
        to: undefined,
        all: false,
        toStart: true,
        force: false,
        dryRun: dry,
        folderOf: repositoryOf(env.dataHome),
        onProgress: (done, total) => out.progress("writing", done, total, "bytes"),
      })[0]
    const mayCopy = args["from"] !== undefined || args["here"] === true
    const found = inPlace(dryRun || mayCopy)
    if (found?.unstartable !== undefined)
      throw new CtxError("not-startable", `session ${session} cannot be resumed: ${found.unstartable}`, {
        hint: `ctxbridge show ${session} shows it, ctxbridge resurrect ${session} writes its file back`,
      })
    const failed = found?.files.find(({ state }) => state === "failed" || state === "differs")
    const [own] = found?.resume ?? []
    if (found === undefined || own === undefined || failed !== undefined) {
      const isElsewhere = found !== undefined && failed === undefined
      const why = isElsewhere
        ? "cannot be resumed: its file is not where its agent looks"
        : "could not be written back"
      const hint = `ctxbridge resurrect ${session} says ${isElsewhere ? "where it is" : "why"}`
      throw new CtxError("not-resumed", `session ${session} ${why}`, { hint })
    }
    if (args["here"] !== true) refuseGone(found, own)
    const isCopied = args["from"] !== undefined || (mayCopy && (own.gone || own.folder !== env.cwd))
    if (mayCopy && !isCopied && !dryRun) inPlace(false)
    const { program, others } = found
    const line = commandLineOf(program)!
    const client = Bun.which(line.program)
    const noClient = (hint: string): CtxError =>
      new CtxError("no-client", `there is no ${line.program} on PATH`, { hint })
    // Each copy is a session more.
    if (isCopied && !isPrinted && client === null)
      throw noClient("--print writes the copy all the same, and prints the command")
    const copy = isCopied ? copied(context, found, own, dryRun) : undefined
    const { resume, path: written } = copy ?? { resume: own, path: undefined }
    const id = copy?.session ?? found.session
    const command = resumeLine({ ...found, session: id }, resume)
    const files = copy === undefined ? found.files : []
    const named = candidates.map(({ session, title, time, project, program, lacks, by }) => {
      const why = { ...(lacks.length > 0 && { lacks }), ...(by === "meaning" && { by }) }
      return { session, title, time, project, program, ...why }
    })
    const about = { session: id, program, folder: resume.folder ?? null, command, match, candidates: named }
    out.json({ ...about, files, others, ...(written !== undefined && { copyOf: session, path: written }) })
    if (!out.wantsJson) tell(versionLines(session, others))
    if (isPrinted) {
      out.print(safe(command))
      return EXIT.ok
    }
    if (client === null) throw noClient(`the command is: ${command}`)
    out.flush()
    // What the line says, without a shell: Windows has none that understands it.
    const { exitCode } = Bun.spawnSync([client, ...line.resume!(id)], {
      stdio: ["inherit", "inherit", "inherit"],
      env: withAgentFolder(line.folderIn, resume.configDir),
      ...(resume.folder === undefined ? {} : { cwd: resume.folder }),
    })
    return exitCode
  },
} satisfies Command

interface Candidate {
  readonly session: string
  readonly title: string | null
  /** Of what was found in it. */
  readonly time: string | null
  readonly project: string | null
  /** Name of the agent. */
  readonly program: string
  /** Words of the topic that no turn of it has together with the others. */
  readonly lacks: readonly string[]
  /** Whether its id or a turn of it was named, or what led to it. */
  readonly by: "name" | "words" | "meaning"
}

interface Meant {
  /** Main sessions, best first; at least one. */
  readonly candidates: readonly Candidate[]
  /** Whether they have all of the words. */
  readonly match: "full" | "part"
}

/** The session that is named, or those in which these words were said. */
async function sessionsMeant(context: Context): Promise<Meant> {
  const { args, env } = context
  const given = words(args)
  using db = openCurrent(env.dataHome, "command", startRenewing)
  const named = given.length === 1 ? sessionNamed(db, given[0]!) : undefined
  // The archive is open until they are found.
  if (named === undefined) return await sessionsWith(context, db, given.join(" "))
  const session = mainOf(db, named)
  const [known] = sessionsNamed(db, [session])
  const about = {
    time: known?.ended ?? null,
    project: known?.project ?? null,
    lacks: [],
    program: known?.program ?? UNMARKED,
    by: "name",
  } as const
  const title = known?.title ?? known?.firstPrompt ?? null
  return { candidates: [{ session, title, ...about }], match: "full" }
}

/** Other agents' subagents have ids of their own. */
function mainOf(db: Database, session: string): string {
  const own = session.split("/", 1)[0]!
  const [known] = sessionsNamed(db, [own])
  const [parent] = known?.parent == null ? [] : sessionsNamed(db, [known.parent])
  return parent?.id ?? own
}

/** @returns undefined if it names nothing, so that it may be a word that was said */
function sessionNamed(db: Database, word: string): string | undefined {
  try {
    const found = findByName(db, word)
    return found.kind === "turn" ? found.turn.session : found.session.id
  } catch (error) {
    if (codeOf(error) === "not-found" || codeOf(error) === "usage") return undefined
    throw error
  }
}

/** Sessions that are shown to choose from. */
const MOST_SESSIONS = 5
/** A session that lacks a larger share of the words is about something else. */
const MOST_LACKED = 0.5

/**
 * Those with all of the words, else with most of them, else those alike in meaning where there is a model.
 *
 * @throws CtxError exit 3 if there is none
 */
async function sessionsWith(context: Context, db: Database, query: string): Promise<Meant> {
  using readers = new CopyReaders()
  const { project } = searchScope(db, context)
  const since = timeArg(context.args, "since", Date.now())
  const asked = { query, limit: MOST_HITS, project, program: agentWanted(context.args), since, room: 0 }
  const { local } = await find(
    { ...asked, where: "here", meaning: "auto", cold: "apart" },
    { ...context.env, db, readers, targets: [] },
  )
  const best = new Map<string, Omit<Candidate, "title">>()
  const alike = new Map<string, Omit<Candidate, "title">>()
  for (const { handle, session: owner, time, project, program = UNMARKED, promptsOnly, by } of local.hits) {
    if (promptsOnly) continue
    const session = mainOf(db, owner)
    const lacks = local.lackedBy(turnId(db, handle))
    const one = { session, time, project, program, lacks, by: "words" } as const
    if (by === "meaning" && !alike.has(session)) alike.set(session, { ...one, by })
    const known = best.get(session)
    if (known === undefined || lacks.length < known.lacks.length) best.set(session, one)
  }
  const mostly = [...best.values()].filter(
    ({ lacks }) => lacks.length <= local.words.asked.length * MOST_LACKED,
  )
  const full = mostly.filter(({ lacks }) => lacks.length === 0)
  const chosen = [full, mostly, [...alike.values()]].find(({ length }) => length > 0)?.slice(0, MOST_SESSIONS)
  if (chosen === undefined) {
    const [first] = local.hits
    if (first !== undefined && local.hits.every((hit) => hit.promptsOnly)) throw promptsOnly(first.session)
    throw notFound(db, query, project, { thing: "session" })
  }
  const titles = titlesOf(
    db,
    chosen.map(({ session }) => session),
  )
  return {
    candidates: chosen.map((one) => ({ ...one, title: titles.get(one.session) ?? null })),
    match: full.length > 0 ? "full" : "part",
  }
}

/**
 * @returns undefined if the person wants none of them
 * @throws CtxError exit 64 if it is not clear which, and nobody can be asked
 */
function chosenAmong(
  context: Context,
  candidates: readonly Candidate[],
  match: Meant["match"],
): Candidate | undefined {
  const [first] = candidates
  if (context.args["yes"] === true || (candidates.length === 1 && match === "full")) return first
  if (!context.out.wantsJson) tell(toldAll(context, candidates, match))
  const number = chosenOf(context, candidates.length, "Resume which?", match === "full" ? 1 : undefined)
  if (number !== undefined) return candidates[number - 1]
  const named = candidates.map((one) => `${one.session} (${told(one)})`).join("; ")
  throw usageError(
    context.out.wantsJson
      ? `${about(context, candidates, match)}: ${named}`
      : "it is not clear which session is meant, and there is no terminal to ask on",
    "ctxbridge resume ID resumes one of them, --yes the first",
  )
}

/** Whether it is clear what was meant, and if not, why. */
function about(context: Context, candidates: readonly Candidate[], match: Meant["match"]): string {
  const topic = JSON.stringify(cut(oneLine(words(context.args).join(" ")), TOLD))
  if (match === "full")
    return `${count(candidates.length, "session")} ${candidates.length === 1 ? "has" : "have"} all of ${topic}`
  return `no session has all of ${topic}; the nearest ${candidates.length === 1 ? "is" : "are"}`
}

function toldAll(context: Context, candidates: readonly Candidate[], match: Meant["match"]): string[] {
  if (candidates.length === 1 && match === "full") return [told(candidates[0]!)]
  return [
    `${about(context, candidates, match)}:`,
    ...candidates.map((one, n) => `  ${n + 1}  ${one.session.slice(0, SHORT)}  ${told(one)}`),
  ]
}

/** Letters of an id that nearly always tell it from others. */
const SHORT = 8
/** UTF-16 units of a title, and of a topic, that are shown. */
const TOLD = 80

function told({ session, title, time, project, program, lacks, by }: Candidate): string {
  const name = title === null ? session : cut(oneLine(title), TOLD)
  const folder = project === null ? undefined : folderOf(project)
  const lacking = lacks.map((word) => `“${word}”`).join(", ")
  const why = by === "meaning" ? "by meaning" : lacks.length > 0 && `lacks ${lacking}`
  const agent = program !== UNMARKED && agentTitle(program)
  return dotted(name, agent, ago(time, Date.now()), folder, why)
}

function tell(lines: readonly string[]): void {
  for (const line of lines) writeError(`${safe(line)}\n`)
}

function refuseGone(found: Resurrected, resume: Resume): void {
  const { folder, gone } = resume
  if (!gone || folder === undefined) return
  const hint =
    found.program === UNMARKED
      ? `create it first: Claude Code looks for the session only there; or --here goes on in this folder`
      : "create it first"
  throw new CtxError("folder-gone", `the session's folder is gone: ${folder}`, { hint })
}

interface Copied {
  readonly session: string
  readonly path: string
  readonly resume: Resume
}

/** Of a project's folder. Claude Code cuts longer ones, and adds a hash. */
const LONGEST_NAME = 200
/** What says which folder Claude Code had gone to. */
const OF_FOLDERS = new Set(["relocated", "worktree-state"])

/** Writes the copy that `--from` and `--here` go on with, and says so. */
function copied(context: Context, found: Resurrected, own: Resume, dryRun: boolean): Copied {
  const { args, env, out } = context
  const { session, program } = found
  if (program !== UNMARKED)
    throw usageError(
      `${agentTitle(program)}'s sessions cannot be copied`,
      "--from and --here are for Claude Code's",
    )
  const file = found.files.find(({ agent, isBeside }) => agent === undefined && !isBeside)!
  const from = stringArg(args, "from")
  const upTo = from === undefined ? undefined : uuidsOfTurn(context, session, from)
  const id = randomUUID()
  const isMoved = args["here"] === true && own.folder !== env.cwd
  const folder = isMoved ? projectFolder(env.claudeDir, env.cwd) : dirname(file.path)
  if (isMoved && basename(folder).length > LONGEST_NAME)
    throw new CtxError("folder-name", `Claude Code would shorten the path of this folder: ${env.cwd}`, {
      hint: "run it in a folder with a shorter path",
    })
  const path = join(folder, `${id}.jsonl`)
  const all = sessionLines(file, env.dataHome)
  const end = upTo === undefined ? all.length : 1 + all.findLastIndex((line) => upTo.has(uuidOf(line)))
  if (end === 0)
    throw new CtxError("not-found", `turn ${from} is not in session ${session}`, {
      hint: `ctxbridge show ${session} lists its turns`,
      exit: EXIT.notFound,
    })
  const lines = isMoved ? movedLines(all.slice(0, end), own.folder, env.cwd) : all.slice(0, end)
  if (!dryRun) writeSessionCopy(session, lines, path)
  if (!out.wantsJson)
    tell([
      `${dryRun ? "would be copied" : "copied"}${from === undefined ? "" : ` up to turn ${from}`}; session ${session} stays as it is${dryRun ? ", and the copy would get an id of its own, other than this one" : ""}`,
      ...(isMoved ? [`goes on in ${env.cwd} instead of ${own.folder ?? "its own folder"}`] : []),
    ])
  return { session: id, path, resume: isMoved ? { folder: env.cwd, gone: false, configDir: undefined } : own }
}

/** Whose lines are the turn's. @param word its handle, or its number in the session */
function uuidsOfTurn({ env }: Context, session: string, word: string): Set<string> {
  using db = openCurrent(env.dataHome, "command", startRenewing)
  using readers = new CopyReaders()
  const turn = turnMeant(db, session, word)
  const lines = linesOfTurn(db, env.dataHome, turn, readers).map((line) =>
    uuidOf(new TextDecoder().decode(line)),
  )
  return new Set(lines.filter((uuid) => uuid !== ""))
}

function turnMeant(db: Database, session: string, word: string): Turn {
  if (/^\d{1,9}$/.test(word)) {
    // A fork has numbers of its own for what came after its origin's turns.
    const turns = [...turnsBeforeFork(db, session), ...turnsOfSession(db, session)]
    const [turn, other] = turns.filter(({ seq }) => seq === Number(word))
    if (other !== undefined)
      throw usageError(
        `turn ${word} of session ${session} may be ${turn!.handle} or ${other.handle}`,
        "a handle tells which",
      )
    if (turn !== undefined) return turn
    throw usageError(`session ${session} has no turn ${word}`, `ctxbridge show ${session} lists its turns`)
  }
  const found = findByName(db, word)
  if (found.kind === "turn") return found.turn
  throw usageError(`${word} is a session, not a turn`, `ctxbridge show ${session} lists its turns`)
}

/** Of a line of a transcript; empty if it has none. */
const uuidOf = (line: string): string => stringOf(objectOf(parseLine(line))["uuid"]) ?? ""

/** A session's lines as if it had been in another folder from the beginning. */
function movedLines(lines: readonly string[], from: string | undefined, to: string): string[] {
  return lines.flatMap((line) => {
    const record = objectOf(parseLine(line))
    if (OF_FOLDERS.has(stringOf(record["type"]) ?? "")) return []
    const cwd = stringOf(record["cwd"])
    if (cwd === undefined || from === undefined || !(cwd === from || cwd.startsWith(`${from}/`)))
      return [line]
    return [jsonText({ ...record, cwd: to + cwd.slice(from.length) })]
  })
}
