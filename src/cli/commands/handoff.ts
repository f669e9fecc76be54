/** `ctxbridge handoff`: goes on with one agent's session in another, which gets a summary of it as its first prompt. */

import { existsSync } from "node:fs"
import {
  agentTitle,
  commandLineOf,
  STARTABLE,
  typedCommand,
  UNMARKED,
  whyNoPrompt,
} from "../../agents/agents.ts"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { ownProgram } from "../../base/own-program.ts"
import { count, shellWord } from "../../base/text.ts"
import { childEnvironment } from "../../config/load.ts"
import { startRenewing } from "../../job/spawn.ts"
import { BY_NAME, type Opening } from "../../restore/render.ts"
import { restoreOf } from "../../restore/restore.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf, projectOf } from "../../views/project.ts"
import { knownAs } from "../../views/queries/projects.ts"
import { listSessions, type Session, sessionsNamed } from "../../views/queries/sessions.ts"
import { oneOf, stringArg } from "../args.ts"
import { type Command, type Context, type Environment, flag, option } from "../command.ts"
import { ask } from "../confirm.ts"
import { writeError } from "../output.ts"
import { safe } from "../style.ts"

/** UTF-16 units of the whole prompt. */
const MOST = 4000

export default {
  meta: { name: "handoff", description: "Continue a session in another agent" },
  args: {
    session: {
      type: "positional",
      names: "session",
      description: "A session's id, or a turn's handle (default: the project's last session)",
      valueHint: "SESSION",
    },
    to: option("The agent that continues it", STARTABLE.join("|")),
    print: flag("Print the prompt for it; start nothing"),
    yes: flag("Start it without asking", "y"),
    "dry-run": flag("Print the prompt and the command that it would be started with"),
  },
  run(context) {
    const { args, env, out } = context
    const to = oneOf(args, "to", STARTABLE)
    if (to === undefined) throw usageError("--to is missing", `--to ${STARTABLE.join(", --to ")}`)
    const { session, text } = handedOff(context, to)
    const line = commandLineOf(to)!
    const folder = session.cwd ?? env.cwd
    const command = `cd ${shellWord(folder)} && ${typedCommand(line, line.begin(text))}`
    const about = { session: session.id, program: session.program, to, folder, command }
    out.json({ ...about, characters: text.length, text })
    if (out.wantsJson) return EXIT.ok
    out.print(safe(text))
    const isDry = args["dry-run"] === true
    if (isDry)
      tell(
        `it would be started with \`${line.program}\`, these ${count(text.length, "character")}, in ${folder}`,
      )
    if (isDry || args["print"] === true) return EXIT.ok
    return startedIf(context, to, folder, text)
  },
} satisfies Command

const tell = (text: string): void => writeError(`${safe(text)}\n`)

/** Starts the agent if the person agrees; where nobody can be asked, the prompt is all. */
function startedIf({ args, out }: Context, to: string, folder: string, text: string): number {
  const line = commandLineOf(to)!
  const path = Bun.which(line.program)
  const isMeant = args["yes"] === true
  const gone = existsSync(folder) ? undefined : `the session's folder is gone: ${folder}`
  const why = whyNoPrompt(line, path) ?? gone
  if (why !== undefined) {
    if (isMeant) throw new CtxError("not-started", why, { hint: "--print prints the prompt alone" })
    tell(why)
    return EXIT.ok
  }
  out.flush()
  if (!isMeant && ask(`Start ${agentTitle(to)} with this in ${safe(folder)}?`) !== true) return EXIT.ok
  const { exitCode } = Bun.spawnSync([path!, ...line.begin(text)], {
    stdio: ["inherit", "inherit", "inherit"],
    env: childEnvironment(),
    cwd: folder,
  })
  return exitCode
}

interface HandedOver {
  readonly session: Session
  /** The first prompt of the session that continues it. */
  readonly text: string
}

function handedOff({ args, env }: Context, to: string): HandedOver {
  using db = openCurrent(env.dataHome, "command", startRenewing)
  const session = sessionWanted(db, env, stringArg(args, "session"))
  const agent = agentTitle(session.program)
  // What is quoted further down is nobody's order, so it says only what to begin with.
  const request = `Continue the work of a session of ${agent}, which is summarized below. Look at the files that it names first, then go on with what is open.`
  const isElsewhere = to !== UNMARKED
  const { text } = restoreOf(db, session.id, {
    source: "handoff",
    budget: MOST - request.length - GAP.length,
    summary: "",
    claude: { ...env, cwd: undefined },
    isElsewhere,
    // Of Claude Code's files it is known whether our server is there.
    ...(isElsewhere && { opening: inShell() }),
    handoff: { agent, firstPrompt: session.firstPrompt ?? "" },
  })
  if (text === "")
    throw new CtxError("nothing-to-tell", `nothing of session ${session.id} can be handed over`, {
      hint: `ctxbridge show ${session.id} shows what is archived of it`,
      exit: EXIT.notFound,
    })
  return { session, text: request + GAP + text }
}

const GAP = "\n\n"

/** Every agent has a shell, whose PATH need not have us. */
const inShell = (): Opening => (Bun.isStandaloneExecutable ? { program: shellWord(ownProgram()) } : BY_NAME)

/** A subagent's session stands for the one that it works for. */
function sessionWanted(db: Database, env: Environment, word: string | undefined): Session {
  if (word === undefined) {
    const project = projectOf(env.cwd)
    const [last] = listSessions(db, { project: knownAs(db, project) ?? project, spoken: true, limit: 1 })
    if (last !== undefined) return last
    throw new CtxError("no-sessions", `no session of ${folderOf(project)} is archived`, {
      hint: "ctxbridge handoff SESSION takes any; ctxbridge sessions --all-projects lists them",
      exit: EXIT.notFound,
    })
  }
  const found = findByName(db, word)
  const named = found.kind === "session" ? found.session : sessionsNamed(db, [found.turn.session])[0]!
  return (named.parent === null ? undefined : sessionsNamed(db, [named.parent])[0]) ?? named
}
