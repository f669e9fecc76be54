/** `ctxbridge sessions`: what there is, newest first. */
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { projectOf } from "../../archive/project.ts"
import { listSessions, openForReading } from "../../archive/read.ts"
import { CtxError, EXIT, usageError } from "../../util/errors.ts"
import { positive, stringArg } from "../args.ts"
import type { Command, Context } from "../command.ts"
import { renderSessions } from "../render-session.ts"
import { createStyle } from "../style.ts"

const LIMIT = 20

export default {
  meta: { name: "sessions", description: "List the archived sessions of this project, newest first" },
  args: {
    project: { type: "string", description: "Those of the project in this folder", valueHint: "PATH" },
    "all-projects": { type: "boolean", description: "Those of every project" },
    agents: { type: "boolean", description: "Subagents, too" },
    limit: { type: "string", description: `At most so many (${LIMIT})`, valueHint: "N" },
  },
  run(context) {
    const { args, env, out } = context
    const limit = positive(args, "limit") ?? LIMIT
    const project = projectWanted(context)
    const db = openForReading(env.dataHome)
    try {
      // One more than shown tells whether there are more.
      const found = listSessions(db, { project, agents: args["agents"] === true, limit: limit + 1 })
      if (found.length === 0) throw nothing(project)
      const rows = found.slice(0, limit)
      const screen = { columns: out.columns, style: createStyle(out.color), now: Date.now() }
      for (const line of renderSessions(rows, screen)) out.print(line)
      if (found.length > limit) out.print(`More with --limit ${limit * 5}.`)
      out.json({ project: project ?? null, sessions: rows, more: found.length > limit })
    } finally {
      db.close()
    }
  },
} satisfies Command

/** undefined: every project. */
function projectWanted({ args, env }: Context): string | undefined {
  const path = stringArg(args, "project")
  if (args["all-projects"] === true) {
    if (path !== undefined) throw usageError("--project and --all-projects exclude each other")
    return undefined
  }
  const folder = resolve(env.cwd, path ?? ".")
  return projectOf(existsSync(folder) ? realpathSync(folder) : folder)
}

function nothing(project: string | undefined): CtxError {
  if (project === undefined) {
    return new CtxError("no-sessions", "no session is archived", {
      hint: "ctxbridge import takes what is there already",
      exit: EXIT.notFound,
    })
  }
  return new CtxError("no-sessions", `no session of ${project} is archived`, {
    hint: "--all-projects lists those of every project",
    exit: EXIT.notFound,
  })
}
