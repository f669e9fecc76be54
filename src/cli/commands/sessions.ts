/** `ctxbridge sessions`: lists the archived sessions, newest first, or as they are wanted. */

import { CtxError, EXIT } from "../../base/errors.ts"
import { startRenewing } from "../../job/spawn.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { SESSION_ORDERS, sessionList } from "../../views/session-list.ts"
import { oneOf, positive, stringArg } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import {
  AGENT_ARG,
  agentWanted,
  knownProject,
  noSessions,
  OF_PROJECT_ARGS,
  projectWanted,
} from "../project-wanted.ts"
import { renderSessions } from "../render-session.ts"
import { screenOf, timeArg } from "../screen.ts"

const LIMIT = 20

export default {
  meta: { name: "sessions", description: "List the archived sessions of this project, newest first" },
  args: {
    ...OF_PROJECT_ARGS,
    since: option("Active from this time on: 2026-03-01, or 7d, 12h (ago)", "TIME"),
    until: option("Begun before this time", "TIME"),
    branch: option("On this branch", "NAME", "b"),
    grep: option(
      "With these words in the title or the first prompt (search looks into all that was said)",
      "WORDS",
    ),
    agent: AGENT_ARG,
    sort: option("Order: the latest, the most or the largest first (last)", SESSION_ORDERS.join("|")),
    agents: flag("Include subagents"),
    limit: option(`At most this many (${LIMIT})`, "N", "n"),
  },
  rows: {
    list: "sessions",
    columns: ["id", "ended", "turns", "errors", "archived", "branch", "project", "title"],
    others:
      "parent agent program cwd version started shared messages tools firstPrompt promptsOnly tokens cost requests duration".split(
        " ",
      ),
  },
  run(context) {
    const { args, env, out } = context
    const limit = positive(args, "limit") ?? LIMIT
    const wanted = projectWanted(context)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const project = knownProject(db, context, wanted)
    const filter = filterOf(args)
    const order = oneOf(args, "sort", SESSION_ORDERS)
    const { sessions, more } = sessionList(db, {
      project,
      ...filter,
      agents: args["agents"] === true,
      limit,
      ...(order && { order }),
    })
    if (sessions.length === 0)
      throw Object.values(filter).some(Boolean) ? noneMatches(project) : noSessions(db, project)
    out.print(renderSessions(sessions, screenOf(out)))
    if (more) out.print(`More with --limit ${limit * 5}.`)
    out.json({ project: project ?? null, sessions, more })
  },
} satisfies Command

function filterOf(args: Context["args"]) {
  const now = Date.now()
  return {
    since: timeArg(args, "since", now),
    until: timeArg(args, "until", now),
    branch: stringArg(args, "branch"),
    program: agentWanted(args),
    words: stringArg(args, "grep")?.split(/\s+/).filter(Boolean),
  }
}

function noneMatches(project: string | undefined): CtxError {
  const place = project === undefined ? "" : ` of ${folderOf(project)}`
  return new CtxError("no-sessions", `no archived session${place} is like that`, {
    hint: "ctxbridge search finds sessions by all that was said in them",
    exit: EXIT.notFound,
  })
}
