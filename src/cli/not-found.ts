/** The error of commands that look something up and find nothing. */
import type { Database } from "../archive/database.ts"
import { folderOf } from "../archive/project.ts"
import { projectPaths } from "../archive/queries/projects.ts"
import { parseQuery } from "../search/parse-query.ts"
import { CtxError, EXIT } from "../util/errors.ts"
import { existsSync } from "../util/fs.ts"
import { basename } from "../util/path.ts"
import { shellWord } from "../util/shell-quote.ts"
import { cut } from "../util/text.ts"

/** UTF-16 units of what was looked for that are repeated: it may be a pasted log. */
const TOLD = 200

/**
 * @param project undefined if every project was searched
 * @param note what the user should know about how it was searched
 * @param because what follows in the sentence
 */
export function notFound(
  db: Database,
  text: string,
  project: string | undefined,
  { note, because = "" }: { readonly note?: string | undefined; readonly because?: string } = {},
): CtxError {
  const place = project === undefined ? "the archive" : folderOf(project)
  const isKnown = project === undefined || projectPaths(db).includes(project)
  const what = text === "" ? "is what was asked for" : `matches ${JSON.stringify(cut(text, TOLD))}`
  const message = isKnown ? `nothing in ${place} ${what}${because}` : `no session of ${place} is archived`
  return new CtxError("not-found", message, {
    hint: isKnown ? (note ?? hintOn(text, project)) : whereElse(db, place),
    exit: EXIT.notFound,
  })
}

function hintOn(text: string, project: string | undefined): string {
  const { terms, isStrict } = parseQuery(text)
  if (text !== "" && terms.length === 0)
    return "the query has no word; ctxbridge search --cold finds symbols as they are written"
  if (isStrict) return "AND, OR and NOT in capitals are operators; in lower case they are words"
  return project === undefined
    ? "try fewer or other words, or fewer filters"
    : "--all-projects looks everywhere"
}

/** Suggests another project: the one above the folder or, in case the folder was moved, one with the same name. */
export function whereElse(
  db: Database,
  folder: string,
  otherwise = "--all-projects looks everywhere",
): string {
  const known = projectPaths(db).map(folderOf)
  const above = known.filter((one) => folder.startsWith(`${one}/`)).sort((a, b) => b.length - a.length)[0]
  if (above !== undefined) return `--project ${above} is the project above it`
  const namesake = known.find((one) => basename(one) === basename(folder))
  if (namesake !== undefined && !existsSync(namesake))
    return `if ${namesake} was moved here: ctxbridge project move ${shellWord(namesake)} ${shellWord(folder)}`
  return namesake === undefined ? otherwise : `--project ${namesake} has the same name; ${otherwise}`
}

export function noSessions(db: Database, project: string | undefined): CtxError {
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
