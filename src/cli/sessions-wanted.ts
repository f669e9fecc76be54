/** The sessions that a command is about where none is named: all that its options narrow to. */
import type { Database } from "../views/database.ts"
import { sessionList } from "../views/session-list.ts"
import type { Context } from "./command.ts"
import { agentWanted, knownProject, noSessions, projectWanted } from "./project-wanted.ts"

/**
 * All sessions of the project and the agent that options name, the newest first, without subagents.
 *
 * @throws CtxError `no-sessions`
 */
export function allSessionsWanted(
  db: Database,
  context: Context,
): { readonly project: string | undefined; readonly sessions: ReturnType<typeof sessionList>["sessions"] } {
  const project = knownProject(db, context, projectWanted(context))
  const program = agentWanted(context.args)
  const limit = Number.MAX_SAFE_INTEGER - 1
  const { sessions } = sessionList(db, { project, program, agents: false, limit })
  if (sessions.length === 0) throw noSessions(db, project, program)
  return { project, sessions }
}
