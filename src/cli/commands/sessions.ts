/** `ctxbridge sessions`: lists the archived sessions, newest first. */
import type { Database } from "../../archive/database.ts"
import { folderOf } from "../../archive/project.ts"
import { openToRead } from "../../job/open-to-read.ts"
import { sessionList } from "../../read/session-list.ts"
import { CtxError, EXIT } from "../../util/errors.ts"
import { positive } from "../args.ts"
import { type Command, flag, option } from "../command.ts"
import { whereElse } from "../not-found.ts"
import { knownProject, OF_PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { renderSessions } from "../render-session.ts"
import { screenOf } from "../screen.ts"

const LIMIT = 20

export default {
  meta: { name: "sessions", description: "List the archived sessions of this project, newest first" },
  args: {
    ...OF_PROJECT_ARGS,
    agents: flag("Include subagents"),
    limit: option(`At most this many (${LIMIT})`, "N", "n"),
  },
  run(context) {
    const { args, env, out } = context
    const limit = positive(args, "limit") ?? LIMIT
    const wanted = projectWanted(context)
    using db = openToRead(env.dataHome)
    const project = knownProject(db, context, wanted)
    const { sessions, more } = sessionList(db, { project, agents: args["agents"] === true, limit })
    if (sessions.length === 0) throw noSessions(db, project)
    out.print(renderSessions(sessions, screenOf(out)))
    if (more) out.print(`More with --limit ${limit * 5}.`)
    out.json({ project: project ?? null, sessions, more })
  },
} satisfies Command

function noSessions(db: Database, project: string | undefined): CtxError {
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
