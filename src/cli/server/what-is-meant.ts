/**
 * What a model means by a name: a turn or session, and by none: the project in which the host works. Errors speak of
 * tools, since the model may have no shell.
 */
import { existsSync } from "node:fs"
import { CtxError, codeOf, EXIT, messageOf } from "../../base/errors.ts"
import { realpathSync } from "../../base/fs.ts"
import { findByName, findSessionByName, type TurnOrSession } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { projectOf } from "../../views/project.ts"
import { knownAs } from "../../views/queries/projects.ts"
import type { Session } from "../../views/queries/sessions.ts"
import type { ServerWorld } from "./tool.ts"

/** @throws CtxError for a name that matches nothing, or several things */
export const turnOrSession = (db: Database, word: string): TurnOrSession => hinted(() => findByName(db, word))

/** @throws CtxError for a name that matches nothing, several things, or a turn */
export const namedSession = (db: Database, word: string): Session => hinted(() => findSessionByName(db, word))

function hinted<T>(look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) !== "not-found") throw error
    throw new CtxError("not-found", messageOf(error), {
      hint: "search and timeline give handles, timeline and status the ids of sessions",
      exit: EXIT.notFound,
    })
  }
}

export const projectIn = (world: Pick<ServerWorld, "folder">): string => projectOf(folderIn(world))

/** The same under the name that the archive uses. */
export const knownProjectIn = (db: Database, world: Pick<ServerWorld, "folder">): string =>
  knownAs(db, projectIn(world))!

/** The folder in which the host that started the server works, with links resolved. */
export const folderIn = ({ folder }: Pick<ServerWorld, "folder">): string =>
  existsSync(folder) ? realpathSync(folder) : folder
