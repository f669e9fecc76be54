/** `ctxbridge resume`: goes on with a session in its folder, written back first if Claude Code has deleted it. */

import { CtxError, codeOf, EXIT } from "../../base/errors.ts"
import { withConfigFolder } from "../../config/load.ts"
import { search } from "../../find/search-turns.ts"
import { startRenewing } from "../../job/spawn.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { words } from "../args.ts"
import { type Command, type Context, flag } from "../command.ts"
import { writeError } from "../output.ts"
import { promptsOnly, type Resume, resurrect, sessionsInVault } from "../pages/resurrect-sessions.ts"
import { IN_PROJECT_ARGS, knownProject, notFound, projectWanted } from "../project-wanted.ts"
import { repositoryOf, resumeLine, versionLines } from "../resume-line.ts"
import { safe } from "../style.ts"

const PROGRAM = "claude"
/** Hits among which there may be a session that can be resumed. */
const MOST_HITS = 20

export default {
  meta: { name: "resume", description: "Resume a session, even a deleted one" },
  args: {
    what: {
      type: "positional",
      required: true,
      rest: true,
      names: "session",
      description: "A session's id, a turn's handle, or words that were said in it",
    },
    ...IN_PROJECT_ARGS,
    "dry-run": flag("Print the command; write nothing and start nothing"),
  },
  run(context) {
    const { args, env, out } = context
    const dryRun = args["dry-run"] === true
    const session = sessionMeant(context)
    const [found] = resurrect(sessionsInVault(env.dataHome, [session]), {
      ...env,
      to: undefined,
      all: false,
      toStart: true,
      force: false,
      dryRun,
      folderOf: repositoryOf(env.dataHome),
      onProgress: (done, total) => out.progress("writing", done, total, "bytes"),
    })
    if (found?.unstartable !== undefined)
      throw new CtxError("not-startable", `session ${session} cannot be resumed: ${found.unstartable}`, {
        hint: `ctxbridge show ${session} shows it, ctxbridge resurrect ${session} writes its file back`,
      })
    const failed = found?.files.find(({ state }) => state === "failed" || state === "differs")
    const resume = found?.resume[0]
    if (found === undefined || resume === undefined || failed !== undefined)
      throw new CtxError("not-resumed", `session ${session} could not be written back`, {
        hint: `ctxbridge resurrect ${session} says why`,
      })
    refuseGone(resume)
    const command = resumeLine(found.session, resume)
    const { session: id, files, others } = found
    out.json({ session: id, folder: resume.folder ?? null, command, files, others })
    // On stderr, because stdout has the command, or is Claude Code's.
    if (!out.wantsJson) for (const line of versionLines(id, others)) writeError(`${safe(line)}\n`)
    if (dryRun || out.wantsJson) {
      out.print(safe(command))
      return EXIT.ok
    }
    const program = Bun.which(PROGRAM)
    if (program === null)
      throw new CtxError("no-client", `there is no ${PROGRAM} on PATH`, {
        hint: `the command is: ${command}`,
      })
    out.flush()
    // What the line says, without a shell: Windows has none that understands it.
    const { exitCode } = Bun.spawnSync([program, "--resume", found.session], {
      stdio: ["inherit", "inherit", "inherit"],
      env: withConfigFolder(resume.configDir),
      ...(resume.folder === undefined ? {} : { cwd: resume.folder }),
    })
    return exitCode
  },
} satisfies Command

/** The main session of what is named, or of the best hit for these words. */
function sessionMeant(context: Context): string {
  const { args, env } = context
  const given = words(args)
  using db = openCurrent(env.dataHome, "command", startRenewing)
  const named = given.length === 1 ? sessionNamed(db, given[0]!) : undefined
  const session = named ?? sessionWith(context, db, given.join(" "))
  return session.split("/", 1)[0]!
}

/** @returns undefined if it names nothing, so that it may be a word that was said */
function sessionNamed(db: Database, word: string): string | undefined {
  try {
    const found = findByName(db, word)
    return found.kind === "turn" ? found.turn.session : found.session.id
  } catch (error) {
    if (codeOf(error) === "not-found" || codeOf(error) === "usage") return undefined
    throw error
  }
}

function sessionWith(context: Context, db: Database, query: string): string {
  using readers = new CopyReaders()
  const project = knownProject(db, context, projectWanted(context))
  const { hits } = search(db, context.env.dataHome, { query, limit: MOST_HITS, project }, readers)
  const best = hits.find((hit) => hit.promptsOnly !== true)
  if (best === undefined)
    throw hits[0] === undefined ? notFound(db, query, project) : promptsOnly(hits[0].session)
  return best.session
}

function refuseGone({ folder, gone }: Resume): void {
  if (!gone || folder === undefined) return
  throw new CtxError("folder-gone", `the session's folder is gone: ${folder}`, {
    hint: "create it first: Claude Code looks for the session only there",
  })
}
