import { CtxError, EXIT } from "../../base/errors.ts"
import { count } from "../../base/text.ts"
import { waitingPrompt } from "../../hook/given.ts"
import { readState } from "../../hook/state.ts"
import { startRenewing } from "../../job/spawn.ts"
import { afterClear } from "../../restore/after-clear.ts"
import { explain, type Section, tokensOf } from "../../restore/explain.ts"
import { visible } from "../../restore/neutral.ts"
import { pointerTo } from "../../restore/pointer-to.ts"
import { type Restore, restoreOf } from "../../restore/restore.ts"
import { findSessionByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf, projectOf } from "../../views/project.ts"
import { knownAs } from "../../views/queries/projects.ts"
import { latestSession } from "../../views/queries/sessions.ts"
import { oneOf, stringArg } from "../args.ts"
import { type Command, type Context, type Environment, naming, option } from "../command.ts"
import { safe } from "../style.ts"

const SOURCES = ["compact", "clear", "startup"] as const
type Source = (typeof SOURCES)[number]

/** Maximum number of facts whose use is shown to people. */
const MOST_FACTS = 5

export default {
  meta: { name: "preview", description: "Show what would be restored now, and why" },
  args: {
    source: option(
      "After a compaction (default), after /clear, or when a session starts",
      "compact|clear|startup",
    ),
    session: naming("session", "Of this session (default: the project's last)", "ID"),
  },
  run({ args, env, out }: Context) {
    const source = oneOf(args, "source", SOURCES) ?? "compact"
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const session = sessionWanted(db, env, stringArg(args, "session"))
    const { text, facts, related } = preview(db, env, source, session)
    const sections = explain(text, facts, related)
    const tokens = tokensOf(text.length)
    if (text === "") out.print("Nothing would be restored.")
    else {
      out.print(text)
      out.print("")
      out.print(
        `${count(text.length, "character")}, about ${count(tokens, "token")}; session ${safe(session)}:`,
      )
      for (const section of sections) for (const line of told(section)) out.print(line)
    }
    out.json({ session, source, characters: text.length, tokens, text, sections })
  },
} satisfies Command

function preview(db: Database, env: Environment, source: Source, session: string): Restore {
  const { config } = env
  const nothing = { text: "", related: [] }
  const related = config["restore.related"]
  if (!config["restore.enabled"]) return nothing
  if (source === "startup") {
    if (!config["restore.startup"]) return nothing
    return pointerTo(db, session, { ...env, cwd: undefined }, { related })
  }
  const compacted = source === "compact"
  const state = compacted ? readState(env.dataHome, session) : {}
  const { summary = "" } = state
  // What Claude Code shows again depends on the session's folder, not on the one that we are in.
  const claude = { ...env, cwd: undefined }
  const budget = config["restore.budget"]
  if (source === "clear") {
    return afterClear(db, session, config["restore.clear"], { budget, claude, related })
  }
  const options = { source, budget, summary, claude, related }
  return restoreOf(db, session, options, waitingPrompt(state))
}

function sessionWanted(db: Database, env: Environment, wanted: string | undefined): string {
  if (wanted !== undefined) return findSessionByName(db, wanted).id
  const project = projectOf(env.cwd)
  const last = latestSession(db, knownAs(db, project) ?? project)
  if (last !== undefined) return last
  throw new CtxError("no-sessions", `no session of ${folderOf(project)} is archived`, {
    hint: "--session accepts any session; ctxbridge sessions --all-projects lists them",
    exit: EXIT.notFound,
  })
}

function* told({ title, why, characters, facts, related }: Section): Generator<string> {
  yield `  ${title === "" ? "Head" : title}: ${count(characters, "character")}: ${why}`
  for (const { text, times = 0, age = 0 } of facts.slice(0, MOST_FACTS))
    yield `    ${visible(text)}: in ${count(times, "message")}, ${age === 0 ? "the last one" : `last ${count(age, "message")} ago`}`
  for (const { handle, words } of related) yield `    ${handle}: ${words.map(visible).join(", ")}`
}
