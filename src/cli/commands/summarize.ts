/** `ctxbridge summarize`: has the user's own Claude Code write what sessions were about. */

import { codeOf, EXIT, isCtxError, messageOf } from "../../base/errors.ts"
import { count } from "../../base/text.ts"
import { startRenewing } from "../../job/spawn.ts"
import type { SessionMaterial } from "../../job/summarize-session.ts"
import {
  claudeProgram,
  dueSessions,
  summarizeSession,
  summarizingAlone,
} from "../../job/summarize-session.ts"
import { formatTokens } from "../../restore/window/zone.ts"
import { findSessionByName } from "../../views/by-name.ts"
import { openCurrent } from "../../views/open-current.ts"
import { sessionsByLatest } from "../../views/queries/summaries.ts"
import { positive, stringArg, words } from "../args.ts"
import { type Command, type Context, flag, naming, option } from "../command.ts"
import { confirmed, YES_ARG } from "../confirm.ts"
import { AGENT_ARG, agentWanted, knownProject, PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { dollars, shortIds } from "../render-session.ts"
import { timeArg } from "../screen.ts"
import { dotted, safe } from "../style.ts"

/** Sessions when no number is asked for. */
const LIMIT = 20

export default {
  meta: {
    name: "summarize",
    description: "Have your own Claude Code write what sessions were about",
  },
  args: {
    sessions: {
      type: "positional",
      rest: true,
      names: "session",
      valueHint: "SESSION…",
      description: "Sessions (at least four letters of the id); by default the project's without a summary",
    },
    session: naming("session", "This session", "ID"),
    since: option("Those active from this date or age on (2026-03-02, 7d)", "WHEN"),
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
    limit: option(`At most this many sessions (${LIMIT})`, "N", "n"),
    model: option("The model to ask (option summaries.model)", "NAME"),
    anew: flag("From the beginning, also where nothing has been said since"),
    "dry-run": flag("Show what would be sent; send nothing"),
    ...YES_ARG,
  },
  async run(context) {
    const { args, env, out } = context
    const model = stringArg(args, "model") ?? env.config["summaries.model"]
    const due = find(context)
    const tokens = due.reduce((sum, one) => sum + one.tokens, 0)
    const dryRun = args["dry-run"] === true
    const names = shortIds(due.map(({ session }) => session))
    const listed = due.map(
      ({ turns, former, ...one }, n) =>
        `  ${safe(names[n]!)}  ${dotted(count(turns, former === undefined ? "turn" : "new turn"), `about ${formatTokens(one.tokens)} tokens`)}`,
    )
    if (due.length === 0) {
      out.print("Nothing to summarise: a model has read all of it")
      out.json(report(context, model, []))
      return EXIT.ok
    }
    const program = claudeProgram(env.home)
    const what = `${count(due.length, "session")}, about ${formatTokens(tokens)} tokens`
    out.print([`${what} for ${model}, sent by ${safe(program)}:`, ...listed])
    if (dryRun) {
      out.json(report(context, model, due.map(planned)))
      return EXIT.ok
    }
    if (!confirmed(context, "Send it?", "this sends what your sessions say to the model")) return EXIT.failed
    out.print("What is written stays, so Ctrl-C costs one session at most; the same command goes on.")
    out.flush()
    const done = await summarizingAlone(env.dataHome, () =>
      summarizeAll(context, due, { program, model, names }),
    )
    // Now, while somebody waits anyway: searches find it at once.
    openCurrent(env.dataHome, "command", startRenewing).close()
    out.json(report(context, model, done))
    const written = done.filter(({ state }) => state === "written")
    const cost = written.reduce((sum, one) => sum + (one.cost ?? 0), 0)
    out.print(
      dotted(
        `${count(written.length, "session")} summarised`,
        cost > 0 && `${dollars(cost)} by Claude Code's account`,
      ),
    )
    return done.every(({ state }) => state === "written") ? EXIT.ok : EXIT.failed
  },
} satisfies Command

/** What has not been read, newest session first. */
function find(context: Context): SessionMaterial[] {
  const { args, env } = context
  using db = openCurrent(env.dataHome, "command", startRenewing)
  const one = stringArg(args, "session")
  const named = [...words(args), ...(one === undefined ? [] : [one])]
  const most = positive(args, "limit") ?? LIMIT
  const since = timeArg(args, "since", Date.now())
  const ids =
    named.length > 0
      ? named.map((word) => findSessionByName(db, word).id.split("/", 1)[0]!)
      : sessionsByLatest(db, {
          project: knownProject(db, context, projectWanted(context)),
          program: agentWanted(args),
          since,
        })
  return dueSessions(db, [...new Set(ids)], { place: env, anew: args["anew"] === true, most })
}

interface Outcome {
  readonly session: string
  readonly turns: number
  /** Estimate of what is sent. */
  readonly tokens: number
  readonly state: "planned" | "written" | "failed" | "left"
  /** US dollars; null: not told. */
  readonly cost: number | null
  readonly observations: number
  readonly error: string | null
}

const planned = ({ session, turns, tokens }: SessionMaterial): Outcome => ({
  ...{ session, turns, tokens, state: "planned", cost: null, observations: 0, error: null },
})

const report = ({ args }: Context, model: string, sessions: readonly Outcome[]) => ({
  dryRun: args["dry-run"] === true,
  model,
  tokens: sessions.reduce((sum, one) => sum + one.tokens, 0),
  cost: sessions.reduce((sum, one) => sum + (one.cost ?? 0), 0),
  sessions,
})

/** Stops at what would fail for all others as well. */
async function summarizeAll(
  { args, env, out }: Context,
  due: readonly SessionMaterial[],
  { program, model, names }: { program: string; model: string; names: readonly string[] },
): Promise<Outcome[]> {
  const done: Outcome[] = []
  for (const [n, material] of due.entries()) {
    const name = safe(names[n]!)
    out.progress("summarising", n, due.length)
    try {
      const options = { program, model, place: env, anew: args["anew"] === true, now: Date.now }
      const { cost, observations } = await summarizeSession(material, options)
      done.push({ ...planned(material), state: "written", cost, observations: observations.length })
      const told = dotted(count(observations.length, "observation"), cost !== null && dollars(cost))
      out.clear()
      out.print(`  ${name}  ${told}`)
    } catch (error) {
      if (!isCtxError(error)) throw error
      done.push({ ...planned(material), state: "failed", error: messageOf(error) })
      out.clear()
      out.print(`  ${name}  ${safe(messageOf(error))}`)
      if (codeOf(error) !== "client-failed") continue
      if (error.hint !== undefined) out.print(`hint: ${error.hint}`)
      done.push(...due.slice(n + 1).map((one): Outcome => ({ ...planned(one), state: "left" })))
      break
    }
    out.flush()
  }
  return done
}
