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
import { folderOf, projectOf } from "../views/project.ts"
import { archivedAs, knownAs, projectId, projectPaths, projectsAbove } from "../views/queries/projects.ts"
import { oneOf, stringArg } from "./args.ts"
import { type Context, flag, option } from "./command.ts"

/** The options, for commands that look for something in projects, and for those that list something of them. */
export const IN_PROJECT_ARGS = {
  project: option("In the project of this folder", "PATH", "p"),
  "all-projects": flag("In every project", "a"),
}
export const OF_PROJECT_ARGS = {
  project: option("Of the project in this folder", "PATH", "p"),
  "all-projects": flag("Of every project", "a"),
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
 * The project under the name that the archive uses; for a folder of which nothing is archived, the one it lies in.
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
  const folder = path === undefined ? undefined : resolve(env.cwd, path)
  if (folder === undefined || existsSync(folder)) return archivedAs(db, wanted, env.home)
  // A folder that is gone may lie in another project's.
  const known = knownAs(db, folder)!
  const all = projectPaths(db)
  if (all.includes(known)) return known
  const folders = all.map(folderOf)
  // Who types a name means that of a project, wherever it is.
  const isName = path === basename(folder)
  const near = nearNames(basename(folder), [...new Set(folders.map((path) => basename(path)))])
  const meant = folders.filter((one) => near.includes(basename(one))).slice(0, 3)
  throw new CtxError("not-found", `--project ${path} is not a folder, and no session of it is archived`, {
    hint: meant.length > 0 ? `did you mean ${meant.join(" or ")}?` : isName ? NAMED : whereElse(db, folder),
    exit: EXIT.notFound,
  })
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
