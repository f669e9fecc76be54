/** What the archive has to choose from where a command wants a name: for shells to complete, and for hints. */

import { count } from "../base/text.ts"
import { OPTIONS } from "../config/options.ts"
import { OPTIONS_DOC } from "../config/options-doc.ts"
import type { Database } from "../views/database.ts"
import { readLabels } from "../views/labels.ts"
import { openCurrent } from "../views/open-current.ts"
import { folderOf, namesApart, projectOf } from "../views/project.ts"
import { toolsCalled } from "../views/queries/calls.ts"
import { knownAs, projectPaths } from "../views/queries/projects.ts"
import { latestPrompts, listSessions } from "../views/queries/sessions.ts"
import type { NameKind } from "./command.ts"
import { fit } from "./style.ts"

interface OfferedName {
  readonly name: string
  /** One line, or empty. */
  readonly about: string
}

const MOST = 30
/** Letters of a session's id that tell it from the others of an archive, as in lists. */
const SHORT_ID = 8
/** Columns of a title or a prompt. */
const ABOUT = 60

/** @param begun what is already typed; a handle's `ctx:` may be missing, as some shells break words at a colon */
export function offeredNames(dataHome: string, cwd: string, kind: NameKind, begun: string): OfferedName[] {
  const all =
    kind === "option" ? optionKeys() : kind === "tag" ? tagsUsed(dataHome) : archived(dataHome, cwd, kind)
  return all.filter(({ name }) => name.startsWith(begun) || (kind === "turn" && bare(name).startsWith(begun)))
}

const bare = (handle: string): string => handle.slice(handle.indexOf(":") + 1)

const optionKeys = (): OfferedName[] =>
  Object.keys(OPTIONS).map((name) => ({ name, about: fit(OPTIONS_DOC[name as keyof typeof OPTIONS], ABOUT) }))

/** Those on most sessions and turns first. */
function tagsUsed(dataHome: string): OfferedName[] {
  const times = new Map<string, number>()
  for (const { tags } of readLabels(dataHome).all)
    for (const tag of tags) times.set(tag, (times.get(tag) ?? 0) + 1)
  return [...times].sort((a, b) => b[1] - a[1]).map(([name, many]) => ({ name, about: count(many, "label") }))
}

function archived(dataHome: string, cwd: string, kind: Exclude<NameKind, "option" | "tag">): OfferedName[] {
  using db = openCurrent(dataHome, "key")
  if (kind === "project") return projects(db)
  if (kind === "tool") return toolsCalled(db).map((name) => ({ name, about: "" }))
  const project = hereOrAnywhere(db, cwd)
  if (kind === "session") return sessions(db, project)
  return [...turns(db, project), ...sessions(db, project)]
}

/** The project of this folder, if anything of it is archived. */
function hereOrAnywhere(db: Database, cwd: string): string | undefined {
  const project = knownAs(db, projectOf(cwd))
  return project !== undefined && projectPaths(db).includes(project) ? project : undefined
}

/** As lists print them. */
const projects = (db: Database): OfferedName[] =>
  [...namesApart(projectPaths(db))].map(([path, name]) => ({ name, about: fit(folderOf(path), ABOUT) }))

const sessions = (db: Database, project: string | undefined): OfferedName[] =>
  listSessions(db, { project, spoken: true, limit: MOST }).map(({ id, title, firstPrompt }) => ({
    name: id.slice(0, SHORT_ID),
    about: fit(title ?? firstPrompt ?? "", ABOUT),
  }))

const turns = (db: Database, project: string | undefined): OfferedName[] =>
  latestPrompts(db, project, MOST).map(({ handle, prompt }) => ({ name: handle, about: fit(prompt, ABOUT) }))
