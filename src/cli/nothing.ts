/** What commands that look something up say when there is nothing. */
import { folderOf } from "../archive/project.ts"
import { CtxError, EXIT } from "../util/errors.ts"

/** @param project undefined: it was looked for everywhere */
export function nothing(text: string, project: string | undefined): CtxError {
  const place = project === undefined ? "the archive" : folderOf(project)
  return new CtxError("not-found", `nothing in ${place} has to do with ${JSON.stringify(text)}`, {
    hint: project === undefined ? "fewer or other words; fewer filters" : "--all-projects looks everywhere",
    exit: EXIT.notFound,
  })
}
