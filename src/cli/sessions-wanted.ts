/** The sessions that a command is about: those that are named, or all that its options narrow to. */
import { CtxError, EXIT } from "../base/errors.ts"
import { startRenewing } from "../job/spawn.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import { findByName } from "../views/by-name.ts"
import type { Database } from "../views/database.ts"
import { openCurrent } from "../views/open-current.ts"
import { folderOf } from "../views/project.ts"
import { sessionList } from "../views/session-list.ts"
import type { Context } from "./command.ts"
import { agentWanted, knownProject, noSessions, projectWanted } from "./project-wanted.ts"

/**
 * All sessions of the project and the agent that options name, the newest first, without subagents.
 *
 * @param since ISO 8601: only those that were active from then on
 * @throws CtxError `no-sessions`
 */
export function allSessionsWanted(
  db: Database,
  context: Context,
  since?: string,
): {
  readonly project: string | undefined
  readonly program: string | undefined
  readonly sessions: ReturnType<typeof sessionList>["sessions"]
} {
  const project = knownProject(db, context, projectWanted(context))
  const program = agentWanted(context.args)
  const limit = Number.MAX_SAFE_INTEGER - 1
  const { sessions } = sessionList(db, { project, program, since, agents: false, limit })
  if (sessions.length === 0) throw since === undefined ? noSessions(db, project, program) : noneSince(project)
  return { project, program, sessions }
}

const noneSince = (project: string | undefined): CtxError =>
  new CtxError(
    "no-sessions",
    `no archived session${project === undefined ? "" : ` of ${folderOf(project)}`} was active since then`,
    { hint: "leave out --since, or go further back", exit: EXIT.notFound },
  )

/** Main sessions by ids or handles. Only the views know a handle's session, so they are opened only for handles. */
export function idsMeant(dataHome: string, given: readonly string[]): string[] {
  return given.map((word) => {
    if (!word.startsWith(HANDLE_PREFIX)) return word.split("/")[0]!
    using db = openCurrent(dataHome, "command", startRenewing)
    const found = findByName(db, word)
    return (found.kind === "turn" ? found.turn.session : found.session.id).split("/")[0]!
  })
}
