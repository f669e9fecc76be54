/** `ctxbridge open`: sessions as HTML pages, and a page that lists a project's sessions. */

import { mkdirSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { CtxError, messageOf, usageError } from "../../base/errors.ts"
import { statsOf } from "../../base/files.ts"
import { hashName } from "../../base/json-files.ts"
import { bytes, count } from "../../base/text.ts"
import { childEnvironment } from "../../config/load.ts"
import { startRenewing } from "../../job/spawn.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { dropOldPages, pagesFolder } from "../../views/kept-pages.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf, namesApart, shortNameOf } from "../../views/project.ts"
import { findSessions, type Session } from "../../views/queries/sessions.ts"
import { stringArg, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { pageName, projectPageBytes, sessionPageBytes } from "../html-pages.ts"
import type { PageLink } from "../pages/html/document.ts"
import { anchorOf } from "../pages/html/turn-html.ts"
import { refuseExisting, writeExport } from "../pages/output-file.ts"
import { AGENT_ARG, OF_PROJECT_ARGS } from "../project-wanted.ts"
import { allSessionsWanted } from "../sessions-wanted.ts"
import { safe } from "../style.ts"

export default {
  meta: {
    name: "open",
    description: "Make an HTML page of sessions, for the browser",
  },
  args: {
    what: {
      type: "positional",
      rest: true,
      names: "turn",
      description:
        "Session ids, or handles of turns; without any, all sessions of this project and a page that lists them",
    },
    ...OF_PROJECT_ARGS,
    agent: AGENT_ARG,
    open: flag("Open it in the browser"),
    output: option("Write to this file, or of several pages to this folder", "FILE|DIR", "o"),
    force: flag("Replace existing files of --output"),
  },
  async run(context) {
    const { args, env, out } = context
    const names = words(args)
    if (names.length > 0 && args["agent"] !== undefined)
      throw usageError("a session is one agent's: leave out --agent")
    if (names.length > 0 && (args["project"] !== undefined || args["all-projects"] === true))
      throw usageError("a session is in one project: leave out --project and --all-projects")
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const made = names.length > 0 ? viewSessions(context, db, names) : viewProject(context, db)
    out.print(made.shown.map(safe))
    out.flush()
    if (args["open"] === true) await openPage(made.index ?? made.pages[0]!.file, made.anchor)
    out.json({ pages: made.pages, index: made.index ?? null })
  },
} satisfies Command

interface Page {
  readonly session: string
  readonly file: string
  readonly bytes: number
}

interface Made {
  readonly pages: readonly Page[]
  readonly index: string | undefined
  /** Of the turn that was named. */
  readonly anchor: string
  readonly shown: readonly string[]
}

function viewSessions(context: Context, db: Database, names: readonly string[]): Made {
  const found = names.map((name) => findByName(db, name))
  const named = found.map((one) =>
    one.kind === "session" ? one.session : findSessions(db, one.turn.session)[0]!,
  )
  // Two turns may be of one session.
  const sessions = [...new Map(named.map((one) => [one.id, one])).values()]
  const pages = writePages(context, db, sessions, placeOf(context, sessions.length > 1))
  const [first] = found
  return {
    pages,
    index: undefined,
    anchor: first?.kind === "turn" ? anchorOf(first.turn.handle) : "",
    shown: pages.map(({ file }) => file),
  }
}

function viewProject(context: Context, db: Database): Made {
  const { project, sessions } = allSessionsWanted(db, context)
  const place = placeOf(context, true)
  const folder = project === undefined ? "" : folderOf(project)
  const name = project === undefined ? "All projects" : (shortNameOf(project) ?? folder)
  const file = place.isKept ? `project-${hashName(folder)}.html` : "index.html"
  const pages = writePages(context, db, sessions, place, { file, name })
  const index = join(place.folder, file)
  const names = namesApart(project === undefined ? sessions.flatMap((one) => one.project ?? []) : [])
  const listed = sessions.map((session) => ({
    session,
    file: pageName(session.id),
    project: names.get(session.project ?? ""),
  }))
  const size = writeExport(index, projectPageBytes({ folder, name, sessions: listed }), place.force)
  const total = pages.reduce((sum, page) => sum + page.bytes, size)
  return { pages, index, anchor: "", shown: [index, `${count(pages.length, "session")}, ${bytes(total)}`] }
}

/** Where pages are written. */
interface Place {
  readonly folder: string
  /** Of the only page; undefined: after its session. */
  readonly name: string | undefined
  /** Whether they are ours to keep, and to replace. */
  readonly isKept: boolean
  readonly force: boolean
}

function placeOf({ args, env }: Context, isSeveral: boolean): Place {
  const output = stringArg(args, "output")
  if (output === undefined) {
    const folder = pagesFolder(env.dataHome)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    dropOldPages(env.dataHome, Date.now())
    return { folder, name: undefined, isKept: true, force: true }
  }
  const path = resolve(env.cwd, output)
  const force = args["force"] === true
  const isFolder = isSeveral || /[/\\]$/.test(output) || statsOf(path)?.isDirectory() === true
  if (!isFolder) return { folder: resolve(path, ".."), name: basename(path), isKept: false, force }
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return { folder: path, name: undefined, isKept: false, force }
}

function writePages(
  { env, out }: Context,
  db: Database,
  sessions: readonly Session[],
  { folder, name, force }: Place,
  index?: PageLink,
): Page[] {
  const total = sessions.reduce((sum, { turns }) => sum + turns, 0)
  const fileOf = ({ id }: Session): string => join(folder, name ?? pageName(id))
  refuseExisting([...sessions.map(fileOf), ...(index ? [join(folder, index.file)] : [])], force)
  let before = 0
  return sessions.map((session) => {
    const file = fileOf(session)
    const onProgress = (done: number): void => out.progress("turns", before + done, total)
    const options = { onProgress, ...(index && { index }) }
    const size = writeExport(file, sessionPageBytes(db, env.dataHome, [{ session }], options), force)
    before += session.turns
    return { session: session.id, file, bytes: size }
  })
}

/* Opens a file with whatever the user's system opens it with, without a shell. */

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32.exe", "url.dll,FileProtocolHandler"],
}
const OTHERWISE = ["xdg-open"]

/** ms to wait whether it fails: some openers stay as long as the browser. */
const PATIENCE = 2000

/**
 * @param anchor of a place in the file; empty: its beginning
 * @throws CtxError
 */
async function openPage(path: string, anchor: string): Promise<void> {
  const address = pathToFileURL(path).href + (anchor === "" ? "" : `#${anchor}`)
  const command = [...(OPENERS[process.platform] ?? OTHERWISE), address]
  const failed = (cause: unknown): CtxError =>
    new CtxError("no-opener", `${command[0]} cannot open the page: ${messageOf(cause)}`, {
      hint: `open ${path} in a browser`,
      cause,
    })
  let child: Bun.Subprocess
  try {
    child = Bun.spawn(command, {
      stdio: ["ignore", "ignore", "ignore"],
      env: childEnvironment(),
      detached: true,
    })
  } catch (error) {
    throw failed(error)
  }
  child.unref()
  const stays = Promise.withResolvers<number>()
  const timer = setTimeout(stays.resolve, PATIENCE, 0)
  const code = await Promise.race([child.exited, stays.promise])
  // We would live on until it fires.
  clearTimeout(timer)
  if (code !== 0) throw failed(`exit ${code}`)
}
