/** `ctxbridge open`: sessions as HTML pages, and a page that lists a project's sessions. */

import { mkdirSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { CtxError, isCtxError, isMissing, messageOf, throwBusy, usageError } from "../../base/errors.ts"
import { statsOf } from "../../base/files.ts"
import { withFolderLock } from "../../base/folder-lock.ts"
import { withLockFile } from "../../base/lock.ts"
import { bytes, count } from "../../base/text.ts"
import { childEnvironment } from "../../config/load.ts"
import { startRenewing } from "../../job/spawn.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { readLabels, withItsLabel } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { priceList } from "../../views/prices.ts"
import { folderOf } from "../../views/project.ts"
import { projectNamer } from "../../views/queries/projects.ts"
import { type CountedSession, findSessions, type Session, withUse } from "../../views/queries/sessions.ts"
import { cannotWrite } from "../../views/unwritable.ts"
import { stringArg, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { type FilePages, FilesChanged } from "../file-pages.ts"
import { pageName, projectPageBytes, sessionPageBytes } from "../html-pages.ts"
import { PageFolder, type WrittenPage } from "../page-folder.ts"
import type { PageLink } from "../pages/html/document.ts"
import { anchorOf } from "../pages/html/turn-html.ts"
import { refuseExisting, writeExport } from "../pages/output-file.ts"
import { AGENT_ARG, PROJECT_ARGS } from "../project-wanted.ts"
import { timeArg } from "../screen.ts"
import { allSessionsWanted } from "../sessions-wanted.ts"
import { costsAtListPrices } from "../stats/stats.ts"
import { safe } from "../style.ts"

export default {
  meta: {
    name: "open",
    description: "Read and search sessions in the browser",
  },
  args: {
    what: {
      type: "positional",
      rest: true,
      names: "turn",
      description:
        "Session ids, or handles of turns; without any, all sessions of this project and a page that searches them",
    },
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
    since: option("Active from this date or age on (2026-03-02, 7d)", "WHEN"),
    "no-files": flag("Make no pages of the files that the sessions changed"),
    "no-open": flag("Only write the pages; without a terminal, that is all in any case"),
    output: option("Only write, to this file, or of several pages to this folder", "FILE|DIR", "o"),
    force: flag("Replace existing files of --output"),
  },
  async run(context) {
    const { args, env, out } = context
    const names = words(args)
    for (const option of ["agent", "since", "project", "all-projects"])
      if (names.length > 0 && args[option] !== undefined && args[option] !== false)
        throw usageError(`--${option} is for lists of sessions: leave it out where one is named`)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const kept = stringArg(args, "output") === undefined ? env.dataHome : undefined
    const made = orExplained(kept, () =>
      names.length > 0 ? openSessions(context, db, names) : openList(context, db),
    )
    out.clear()
    out.print(made.shown.map(safe))
    out.flush()
    const isOnlyWritten = args["no-open"] === true || stringArg(args, "output") !== undefined
    if (out.terminal && !out.wantsJson && !isOnlyWritten)
      await openPage(made.index ?? made.pages[0]!.file, made.anchor)
    out.json({
      pages: made.pages,
      index: made.index ?? null,
      files: made.files.listed.map((one) => ({
        ...one,
        file: join(made.files.folder, one.file),
        reason: one.reason ?? null,
      })),
    })
  },
} satisfies Command

/**
 * Who forgets something removes all pages in the data folder, also while others are made.
 *
 * @param kept the data folder, if pages are made there
 */
function orExplained<T>(kept: string | undefined, make: () => T): T {
  try {
    return make()
  } catch (error) {
    const cause = isCtxError(error) ? error.cause : error
    const unwritable = kept === undefined ? undefined : cannotWrite(cause, kept)
    if (unwritable !== undefined) {
      throw new CtxError(unwritable.code, unwritable.message, {
        hint: "check its owner and mode, and what room there is; --output DIR writes the pages elsewhere",
        cause,
      })
    }
    if (kept === undefined || !isMissing(cause)) throw error
    throw new CtxError("pages-gone", "the archive was changed while the pages were made", {
      hint: "run it again",
      cause,
    })
  }
}

interface Made {
  readonly pages: readonly WrittenPage[]
  readonly index: string | undefined
  readonly files: FilePages
  /** Of the turn that was named. */
  readonly anchor: string
  readonly shown: readonly string[]
}

function openSessions(context: Context, db: Database, names: readonly string[]): Made {
  const { env } = context
  const found = names.map((name) => findByName(db, name))
  const named = found.map((one) =>
    one.kind === "session" ? one.session : findSessions(db, one.turn.session)[0]!,
  )
  // Two turns may be of one session.
  const sessions = [...new Map(named.map((one) => [one.id, one])).values()]
  const place = placeOf(context, sessions.length > 1)
  const { pages, files } =
    place.file === undefined
      ? intoFolder(db, env.dataHome, place, (folder) =>
          writeInto(context, db, folder, withUse(db, sessions), {
            costs: costsAtListPrices(db, sessions, priceList(env.config["stats.prices"])),
          }),
        )
      : { pages: [writeOne(context, db, sessions[0]!, place.file)], files: NO_FILES }
  const [first] = found
  return {
    pages,
    files,
    index: undefined,
    anchor: first?.kind === "turn" ? anchorOf(first.turn.handle) : "",
    shown: pages.map(({ file }) => file),
  }
}

function writeOne(
  { args, env, ...context }: Context,
  db: Database,
  session: Session,
  file: string,
): WrittenPage {
  const isForced = args["force"] === true
  refuseExisting([file], isForced)
  const onProgress = (done: number): void => progress(context)(done, session.turns)
  const pieces = sessionPageBytes(db, env.dataHome, [{ session }], {
    onProgress,
    labels: readLabels(env.dataHome),
    costs: costsAtListPrices(db, [session], priceList(env.config["stats.prices"])),
  })
  return { session: session.id, file, bytes: writeExport(file, pieces, isForced) }
}

const progress =
  ({ out }: Pick<Context, "out">, of = "turns") =>
  (done: number, total: number): void =>
    out.progress(of, done, total)

const NO_FILES: FilePages = { folder: "", listed: [], bytes: 0 }

/** The pages of sessions, and of the files that they changed. */
function writeInto(
  context: Context,
  db: Database,
  folder: PageFolder,
  sessions: readonly CountedSession[],
  { list, costs }: { readonly list?: PageLink; readonly costs: ReadonlyMap<string, number> },
): { readonly pages: readonly WrittenPage[]; readonly files: FilePages } {
  const isWanted = context.args["no-files"] !== true && (list !== undefined || folder.isKept)
  const files = isWanted ? new FilesChanged({ db, place: context.env, sessions }) : undefined
  const pages = folder.writePages(sessions, { list, costs, onProgress: progress(context), files })
  const made = files?.write(folder, list, progress(context, "files"))
  return { pages, files: made ?? NO_FILES }
}

function openList(context: Context, db: Database): Made {
  const since = timeArg(context.args, "since", Date.now())
  const wanted = allSessionsWanted(db, context, since)
  return intoFolder(db, context.env.dataHome, placeOf(context, true), (pages) =>
    writeList(context, db, pages, wanted),
  )
}

function writeList(
  context: Context,
  db: Database,
  pages: PageFolder,
  { project, program, sessions }: ReturnType<typeof allSessionsWanted>,
): Made {
  const { args, env } = context
  const costs = costsAtListPrices(db, sessions, priceList(env.config["stats.prices"]))
  const list = pages.listOf({ project, program, since: stringArg(args, "since") })
  const { pages: written, files } = writeInto(context, db, pages, sessions, { list, costs })
  pages.writeIndex(written)
  const folder = project === undefined ? "" : folderOf(project)
  const nameOf = projectNamer(db)
  const name = project === undefined ? "All projects" : nameOf(project)
  const labels = readLabels(env.dataHome)
  const listed = sessions.map((session) => ({
    ...withItsLabel({ id: session.id }, labels),
    session,
    file: pageName(session.id),
    project: project === undefined && session.project !== null ? nameOf(session.project) : undefined,
    cost: costs.get(session.id),
  }))
  const index = join(pages.folder, list.file)
  const data = { folder, name, sessions: listed, files: files.listed }
  const size = writeExport(index, projectPageBytes(data), true)
  const total = written.reduce((sum, page) => sum + page.bytes, size + files.bytes)
  return {
    pages: written,
    files,
    index,
    anchor: "",
    shown: [index, `${count(written.length, "session")}, ${bytes(total)}`],
  }
}

/** Where pages are written. */
interface Place {
  /** Undefined: into the data folder, where they are ours to replace. */
  readonly folder: string | undefined
  /** Of the only page. */
  readonly file: string | undefined
  readonly force: boolean
}

function placeOf({ args, env }: Context, isSeveral: boolean): Place {
  const output = stringArg(args, "output")
  const force = args["force"] === true
  if (output === undefined) return { folder: undefined, file: undefined, force }
  const path = resolve(env.cwd, output)
  const isFolder = isSeveral || /[/\\]$/.test(output) || statsOf(path)?.isDirectory() === true
  if (!isFolder) return { folder: undefined, file: join(resolve(path, ".."), basename(path)), force }
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return { folder: path, file: undefined, force }
}

/** ms to wait for another `open`, which may have thousands of pages to make. */
const PATIENCE = 30_000

/** One at a time: whoever writes an index leaves out the pages that it does not know of. */
function intoFolder<T>(
  db: Database,
  dataHome: string,
  { folder, force }: Place,
  work: (pages: PageFolder) => T,
): T {
  const busy = (): never => throwBusy("another open is writing these pages")
  return folder === undefined
    ? // `forget` removes the folder, and its lock would go with it.
      withLockFile(join(dataHome, "pages.lock"), PATIENCE, () => work(PageFolder.kept(db, dataHome)), busy)
    : withFolderLock(folder, PATIENCE, () => work(new PageFolder(db, dataHome, folder, force)), busy)
}

/* Opens a file with whatever the user's system opens it with, without a shell. */

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32.exe", "url.dll,FileProtocolHandler"],
}
const OTHERWISE = ["xdg-open"]

/** ms to wait whether it fails: some openers stay as long as the browser. */
const OPENING = 2000

/**
 * @param anchor of a place in the file; empty: its beginning
 * @throws CtxError
 */
async function openPage(path: string, anchor: string): Promise<void> {
  const address = pathToFileURL(path).href + (anchor === "" ? "" : `#${anchor}`)
  const command = [...(OPENERS[process.platform] ?? OTHERWISE), address]
  const failed = (cause: unknown): CtxError =>
    new CtxError("no-opener", `${command[0]} cannot open the page: ${messageOf(cause)}`, {
      hint: `open ${path} in a browser; --no-open only writes it`,
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
  const timer = setTimeout(stays.resolve, OPENING, 0)
  const code = await Promise.race([child.exited, stays.promise])
  // We would live on until it fires.
  clearTimeout(timer)
  if (code !== 0) throw failed(`exit ${code}`)
}
