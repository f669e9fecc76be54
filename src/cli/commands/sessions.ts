/** `ctxbridge sessions`: lists the archived sessions, newest first, or as they are wanted. */

import { CtxError, EXIT } from "../../base/errors.ts"
import { startRenewing } from "../../job/spawn.ts"
import type { Database } from "../../views/database.ts"
import { type Labels, readLabels, withItsLabel } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { priceList } from "../../views/prices.ts"
import { folderOf } from "../../views/project.ts"
import { projectNamer } from "../../views/queries/projects.ts"
import { sessionsOfTurns } from "../../views/queries/turns.ts"
import { SESSION_ORDERS, sessionList } from "../../views/session-list.ts"
import { oneOf, positive, stringArg } from "../args.ts"
import { type Command, type Context, flag, naming, option } from "../command.ts"
import {
  AGENT_ARG,
  agentWanted,
  knownProject,
  noSessions,
  PROJECT_ARGS,
  projectWanted,
} from "../project-wanted.ts"
import { renderSessions } from "../render-session.ts"
import { screenOf, timeArg } from "../screen.ts"
import { costsAtListPrices } from "../stats/stats.ts"

const LIMIT = 20

export default {
  meta: { name: "sessions", description: "List the archived sessions of this project, newest first" },
  args: {
    ...PROJECT_ARGS,
    since: option("Active from this date or age on (2026-03-02, 7d)", "WHEN"),
    until: option("Begun before this date or age", "WHEN"),
    branch: option("On this branch", "NAME", "b"),
    grep: option(
      "With these words in the title or the first prompt (search looks into all that was said)",
      "WORDS",
    ),
    agent: AGENT_ARG,
    tag: naming("tag", "With this tag (ctxbridge tag), or a turn that has it", "NAME"),
    sort: option(
      "Order: the latest, the most or the largest first (last; pinned ones before them); cost is at list prices",
      SESSION_ORDERS.join("|"),
    ),
    agents: flag("Include subagents"),
    limit: option(`At most this many (${LIMIT})`, "N", "n"),
  },
  rows: {
    list: "sessions",
    columns: ["id", "ended", "turns", "errors", "archived", "branch", "project", "title"],
    others:
      "parent agent program cwd version started shared messages tools firstPrompt promptsOnly tokens cost requests duration label listPrice".split(
        " ",
      ),
  },
  run(context) {
    const { args, env, out } = context
    const limit = positive(args, "limit") ?? LIMIT
    const wanted = projectWanted(context)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const project = knownProject(db, context, wanted)
    const labels = readLabels(env.dataHome)
    const filter = { ...filterOf(args), ...taggedWith(db, labels, stringArg(args, "tag")) }
    const order = oneOf(args, "sort", SESSION_ORDERS)
    const costs = order === "cost" ? listPrices(db, project, env.config["stats.prices"]) : undefined
    const { sessions, more } = sessionList(db, {
      project,
      ...filter,
      agents: args["agents"] === true,
      limit,
      pinned: labels.named().sessions,
      ...(order && { order }),
      ...(costs && { costs }),
    })
    const shown = sessions.map((session) => ({
      ...withItsLabel(session, labels),
      ...(costs && { listPrice: costs.get(session.id) ?? null }),
    }))
    if (sessions.length === 0)
      throw Object.values(filter).some(Boolean) ? noneMatches(project) : noSessions(db, project)
    out.print(renderSessions(shown, screenOf(out), project === undefined ? projectNamer(db) : undefined))
    if (more) out.print(`More with --limit ${limit * 5}.`)
    out.json({ project: project ?? null, sessions: shown, more })
  },
} satisfies Command

const listPrices = (db: Database, project: string | undefined, own: readonly string[]) =>
  costsAtListPrices(db, project === undefined ? [] : [{ project }], priceList(own))

/** Sessions with the tag, and those of turns with it. */
function taggedWith(db: Database, labels: Labels, tag: string | undefined): { among?: readonly string[] } {
  if (tag === undefined) return {}
  const { sessions, handles } = labels.named(tag)
  return { among: [...new Set([...sessions, ...sessionsOfTurns(db, handles)])] }
}

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
  return new CtxError("no-sessions", `no archived session${place} matches`, {
    hint: "ctxbridge search finds sessions by all that was said in them",
    exit: EXIT.notFound,
  })
}
