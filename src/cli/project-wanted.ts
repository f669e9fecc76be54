/**
 * The project meant by `--project`, `--all-projects` and `--session`; by default, that of the current folder. And the
 * agent meant by `--agent`.
 */

import { AGENT_NAMES } from "../agents/agents.ts"
import { CtxError, EXIT, usageError } from "../base/errors.ts"
import { existsSync, realpathSync } from "../base/fs.ts"
import { basename, resolve } from "../base/path.ts"
import { cut, nearNames, shellWord } from "../base/text.ts"
import { isWordless, parseQuery } from "../find/parse-query.ts"
import type { Database } from "../views/database.ts"
import { folderOf, namesApart, projectOf } from "../views/project.ts"
import { archivedAs, knownAs, projectId, projectPaths, projectsAbove } from "../views/queries/projects.ts"
import { oneOf, stringArg } from "./args.ts"
import { type Context, flag, naming, option } from "./command.ts"

/** The options of commands that look for something in projects, or list something of them. */
export const PROJECT_ARGS = {
  project: naming(
    "project",
    "The project of this name or folder, not that of the current one",
    "PATH|NAME",
    "p",
  ),
  "all-projects": flag("Every project", "a"),
}

const NAMED = "ctxbridge sessions --all-projects lists the projects"

/** Returns undefined for every project. A session is looked for in all, unless a project is named as well. */
export function projectWanted({ args, env }: Pick<Context, "args" | "env">): string | undefined {
  const path = stringArg(args, "project")
  if (args["all-projects"] === true) {
    if (path !== undefined) throw usageError("--project and --all-projects cannot be used together")
    return undefined
  }
  if (path === undefined && stringArg(args, "session") !== undefined) return undefined
  // The system reports the current folder with links already resolved.
  if (path === undefined) return projectOf(env.cwd)
  return projectAt(resolve(env.cwd, path))
}

/**
 * The project under the name that the archive uses; for a folder of which nothing is archived, the one it lies in. A name
 * that lists print means the project that they call so, also where a folder has it: `./NAME` is that.
 *
 * @param wanted as `projectWanted` says
 * @throws CtxError exit 3 if `--project` names neither a folder nor anything that is archived
 */
export function knownProject(
  db: Database,
  { args, env }: Pick<Context, "args" | "env">,
  wanted: string | undefined,
): string | undefined {
  const path = stringArg(args, "project")
  if (path === undefined) return archivedAs(db, wanted, env.home)
  const names = namesApart(projectPaths(db))
  const called = onlyOne(names, (name) => name === path)
  if (called !== undefined) return called
  const folder = resolve(env.cwd, path)
  if (existsSync(folder)) return archivedAs(db, wanted, env.home)
  // A folder that is gone may lie in another project's.
  const known = knownAs(db, folder)!
  if (names.has(known)) return known
  // As a narrow screen shows it, cut, or as it was told apart from one that is gone.
  const begins = path.endsWith("…") ? path.slice(0, -1) : undefined
  const meant = onlyOne(names, (name, project) =>
    begins === undefined ? `/${folderOf(project)}`.endsWith(`/${path}`) : name.startsWith(begins),
  )
  if (meant !== undefined) return meant
  const near = nearProjects(names.values(), path)
  const isName = path === basename(folder)
  throw new CtxError("not-found", `--project ${path} is neither a project's name nor a folder`, {
    hint: near === undefined ? (isName ? NAMED : whereElse(db, folder)) : `did you mean ${near}?`,
    exit: EXIT.notFound,
  })
}

/** The project of which this is true, if it is of no other. */
function onlyOne(
  names: ReadonlyMap<string, string>,
  is: (name: string, project: string) => boolean,
): string | undefined {
  const [one, another] = [...names].filter(([project, name]) => is(name, project))
  return another === undefined ? one?.[0] : undefined
}

/** The names of projects that are like a mistyped one, or a path's end, in words. */
function nearProjects(names: Iterable<string>, typed: string): string | undefined {
  const all = [...names]
  const whole = nearNames(typed, all)
  const near =
    whole.length > 0 ? whole : nearNames(basename(typed), [...new Set(all.map((one) => basename(one)))])
  const meant = near.flatMap((like) => all.filter((name) => name === like || basename(name) === like))
  return meant.length === 0 ? undefined : [...new Set(meant)].slice(0, 3).join(" or ")
}

/** Where is searched. */
interface Scope {
  /** Under the name that the archive uses; undefined: every project. */
  readonly project: string | undefined
  /** Set if nobody has asked for every project, and why it is searched nevertheless. */
  readonly note: string | undefined
}

/**
 * The project that is meant; where no folder was named, and nothing of the current one is archived, every project.
 *
 * @throws CtxError as `knownProject` does
 */
export function searchScope(db: Database, context: Pick<Context, "args" | "env">): Scope {
  const project = knownProject(db, context, projectWanted(context))
  const isMeant = stringArg(context.args, "project") !== undefined || projectPaths(db).length === 0
  if (project === undefined || isMeant || projectId(db, project) !== undefined)
    return { project, note: undefined }
  const folder = folderOf(project)
  const moved = movedHint(db, folder)
  const note = `No session of ${folder} is archived: this is from every project.`
  return { project: undefined, note: moved === undefined ? note : `${note} I${moved.slice(1)}.` }
}

/** @param folder an absolute path; it may be a link, or not exist any more */
export const projectAt = (folder: string): string =>
  projectOf(existsSync(folder) ? realpathSync(folder) : folder)

/* The error of commands that look something up and find nothing. */

/** UTF-16 units of what was looked for that are repeated: it may be a pasted log. */
const TOLD = 200

interface NotFound {
  /** What the user should know about how it was searched, or what would find more. */
  readonly note?: string | undefined
  /** What follows in the sentence. */
  readonly because?: string
  /** What was looked for, if not turns with these words. */
  readonly thing?: string | undefined
}

/** @param project undefined if every project was searched */
export function notFound(
  db: Database,
  text: string,
  project: string | undefined,
  { note, because = "", thing }: NotFound = {},
): CtxError {
  const place = project === undefined ? "the archive" : folderOf(project)
  const isKnown = project === undefined || projectPaths(db).includes(project)
  const what = text === "" ? "is what was asked for" : `matches ${JSON.stringify(cut(text, TOLD))}`
  const nothing =
    thing === undefined ? `nothing in ${place} ${what}` : `no ${thing} found in ${place}: nothing ${what}`
  const message = isKnown ? `${nothing}${because}` : `no session of ${place} is archived`
  return new CtxError("not-found", message, {
    hint: isKnown ? (hintOnSigns(text) ?? note ?? hintOn(text, project)) : whereElse(db, place),
    exit: EXIT.notFound,
  })
}

const hintOnSigns = (text: string): string | undefined =>
  isWordless(parseQuery(text))
    ? "the query has no word; ctxbridge search --cold finds symbols as they are written"
    : undefined

function hintOn(text: string, project: string | undefined): string {
  if (parseQuery(text).isStrict)
    return "AND, OR and NOT in capitals are operators; in lower case they are words"
  return project === undefined
    ? "try fewer or other words, or fewer filters"
    : "--all-projects looks everywhere"
}

/** Suggests another project: the one above the folder or, in case the folder was moved, one with the same name. */
function whereElse(db: Database, folder: string, otherwise = "--all-projects looks everywhere"): string {
  const known = projectPaths(db).map(folderOf)
  const [above] = projectsAbove(db, folder)
  if (above !== undefined) return `--project ${folderOf(above)} is the project above it`
  const moved = movedHint(db, folder)
  if (moved !== undefined) return moved
  const namesake = known.find((one) => basename(one) === basename(folder))
  return namesake === undefined ? otherwise : `--project ${namesake} has the same name; ${otherwise}`
}

/** How to join a folder with an archived one of the same name that is gone. */
function movedHint(db: Database, folder: string): string | undefined {
  const namesake = projectPaths(db)
    .map(folderOf)
    .find((one) => basename(one) === basename(folder))
  if (namesake === undefined || existsSync(namesake)) return undefined
  return `if ${namesake} was moved here: ctxbridge project move ${shellWord(namesake)} ${shellWord(folder)}`
}

/** @param program whose sessions were asked for; undefined: all agents' */
export function noSessions(db: Database, project: string | undefined, program?: string): CtxError {
  if (program !== undefined) {
    const place = project === undefined ? "" : ` of ${folderOf(project)}`
    return new CtxError("no-sessions", `no session${place} with --agent ${program} is archived`, {
      hint: "ctxbridge sessions -a lists those of all agents and projects",
      exit: EXIT.notFound,
    })
  }
  if (project === undefined) {
    return new CtxError("no-sessions", "no session is archived", {
      hint: "ctxbridge import archives what already exists",
      exit: EXIT.notFound,
    })
  }
  const folder = folderOf(project)
  return new CtxError("no-sessions", `no session of ${folder} is archived`, {
    hint: whereElse(db, folder, "--all-projects lists those of every project"),
    exit: EXIT.notFound,
  })
}

/* The option that narrows what is shown to the sessions of one agent. */

export const AGENT_ARG = option("Only sessions of this agent", AGENT_NAMES.join("|"))

/** Its name; undefined: all agents. */
export const agentWanted = (args: Context["args"]): string | undefined => oneOf(args, "agent", AGENT_NAMES)
