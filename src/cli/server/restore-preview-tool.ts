/** `restore_preview`: what would be given back after a compaction at this moment. */

import { startRenewing } from "../../job/spawn.ts"
import { restoreOf } from "../../restore/restore.ts"
import { scopeOf } from "../../restore/restore-scope.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { findSessions, latestSession } from "../../views/queries/sessions.ts"
import { countTurns } from "../../views/queries/turns.ts"
import { nothingHere } from "./timeline-tool.ts"
import type { ServerTool } from "./tool.ts"
import { knownProjectIn, namedSession } from "./what-is-meant.ts"

export const restorePreviewTool: ServerTool = {
  name: "restore_preview",
  title: "What would be restored",
  description:
    "What would be restored after a compaction now: the unanswered prompt, constraints, todos, files, commands, " +
    "decisions, errors, paths, names, latest turns, related turns of other sessions. A real one leaves out what the " +
    "summary says.",
  properties: {
    session: { type: "string", description: "Of this session instead of the current one" },
    budget: {
      type: "integer",
      description: "Characters, instead of the configured number",
      minimum: 200,
      maximum: 9500,
    },
  },
  readOnly: true,
  run(args, world) {
    using db = openCurrent(world.dataHome, "command", startRenewing)
    const word = args.text("session")
    const current = findSessions(db, world.session ?? "-").find(({ id }) => id === world.session)?.id
    const session =
      word === undefined
        ? (current ?? latestSession(db, knownProjectIn(db, world)))
        : namedSession(db, word).id
    if (session === undefined) throw nothingHere()
    if (!world.restores) return { text: "Nothing would be restored: the user has switched it off." }
    const budget = args.number("budget") ?? world.restoreBudget
    const host = { ...world, cwd: undefined }
    const { restoreRelated: related, learning } = world
    const options = { source: "compact", budget, summary: "", host, related, learning } as const
    const { text } = restoreOf(db, session, options, world.waiting(session))
    return { text: text === "" ? `Nothing would be restored: ${whyNothing(db, session, budget)}.` : text }
  },
}

const whyNothing = (db: Database, session: string, budget: number): string =>
  countTurns(db, scopeOf(db, session)) === 0
    ? "the session has no turns yet"
    : `there is nothing that ${budget} characters have room for`
