/** `ctxbridge project`: says where a repository or folder has been moved, so that its sessions are found there. */

import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { statsOf } from "../../base/files.ts"
import { basename, resolve } from "../../base/path.ts"
import { count, nearNames, shellWord } from "../../base/text.ts"
import type { Database } from "../../views/database.ts"
import {
  changeJoined,
  endOfJoins,
  type Join,
  readJoined,
  withJoin,
  withoutJoin,
} from "../../views/joined-projects.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { ownProjects, type ProjectSessions } from "../../views/queries/projects.ts"
import { refuseUnwritable } from "../../views/unwritable.ts"
import { unknownWord, words } from "../args.ts"
import { type Command, type Context, type Environment, flag } from "../command.ts"
import { confirmed, YES_ARG } from "../confirm.ts"
import { projectAt } from "../project-wanted.ts"
import { safe } from "../style.ts"

/** Folders named in a hint. */
const MOST_NAMED = 3

export default {
  meta: { name: "project", description: "Say where a project's folder was moved" },
  args: {
    action: {
      type: "positional",
      required: true,
      description: "What to say",
      valueHint: "move",
      example: "move OLD NEW",
    },
    path: {
      type: "positional",
      rest: true,
      description: "The folder where the project was, and the one where it is now",
      valueHint: "PATH…",
    },
    undo: flag("Undo it: the sessions of OLD are found in OLD again"),
    "dry-run": flag("Show what would be joined; write nothing"),
    ...YES_ARG,
  },
  run(context) {
    const { args, env } = context
    const [action, old, now, surplus] = words(args)
    if (action !== "move") throw unknownWord("action", `${action}`, ["move"])
    if (surplus !== undefined) throw usageError(`unexpected argument: ${surplus}`, USAGE)
    if (args["undo"] === true) {
      if (old === undefined) throw usageError("which move do you want to undo?", joinsIn(env))
    } else if (old === undefined || now === undefined) {
      throw usageError(`${old === undefined ? "OLD and NEW are" : "NEW is"} missing`, USAGE)
    }
    if (args["dry-run"] !== true) refuseUnwritable(env.dataHome)
    const db = openCurrent(env.dataHome, "job")
    try {
      return args["undo"] === true ? undo(context, db, old!, now) : move(context, db, old!, now!)
    } finally {
      db.close()
    }
  },
} satisfies Command

const USAGE = "ctxbridge project move OLD NEW"

function move(context: Context, db: Database, old: string, now: string): number {
  const { args, env, out } = context
  const dryRun = args["dry-run"] === true
  const from = projectNamed(db, env, old)
  const folder = resolve(env.cwd, now)
  if (statsOf(folder)?.isDirectory() !== true) {
    throw new CtxError("not-a-folder", `${now} is not a folder`, {
      hint: "name the folder in which the project is now",
      exit: EXIT.usage,
    })
  }
  const to = projectAt(folder)
  if (to === from.path) throw usageError(`${folderOf(to)} is the same project`, USAGE)
  const { joins } = readJoined(env.dataHome)
  const isDone = joins.some((one) => one.from === from.path && one.to === to && one.by === "hand")
  if (!isDone && !dryRun && statsOf(folderOf(from.path)) !== undefined) {
    const both = `${folderOf(from.path)} is still there, and its sessions will be found in ${folderOf(to)} only`
    if (!confirmed(context, `${safe(both)}. Join them?`, safe(both))) return EXIT.failed
  }
  const join: Join = { from: from.path, to, by: "hand" }
  if (!isDone && !dryRun) changeJoined(db, env.dataHome, (file) => withJoin(file, join))
  out.json({ from: folderOf(join.from), to: folderOf(to), sessions: from.sessions, joined: true, dryRun })
  const sessions = count(from.sessions, "session")
  const places = safe(`${folderOf(join.from)} with ${folderOf(to)}`)
  if (isDone) out.print(`Nothing to do: ${safe(folderOf(join.from))} is joined with ${safe(folderOf(to))}`)
  else out.print(`${dryRun ? "Would join" : "Joined"} ${sessions} of ${places}`)
  if (!isDone && !dryRun)
    out.print(`To undo it: ctxbridge project move --undo ${safe(shellWord(folderOf(join.from)))}`)
  return EXIT.ok
}

function undo({ args, env, out }: Context, db: Database, old: string, now: string | undefined): number {
  const dryRun = args["dry-run"] === true
  const { joins } = readJoined(env.dataHome)
  const folder = resolve(env.cwd, old)
  const names = [folder, `${folder}/.git`]
  const join = joins.find(({ from }) => names.includes(from))
  const to = now === undefined ? undefined : resolve(env.cwd, now)
  if (join === undefined || (to !== undefined && to !== join.to && to !== folderOf(join.to))) {
    throw new CtxError("not-found", `${folder} is not joined with ${to ?? "another project"}`, {
      hint: joinsIn(env),
      exit: EXIT.notFound,
    })
  }
  const sessions = ownProjects(db).find(({ path }) => path === join.from)?.sessions ?? 0
  if (!dryRun) changeJoined(db, env.dataHome, (file) => withoutJoin(file, join, true))
  out.json({ from: folderOf(join.from), to: folderOf(join.to), sessions, joined: false, dryRun })
  const places = `${folderOf(join.from)} again, and no longer in ${folderOf(endOfJoins(joins, join.from))}`
  out.print(
    `${count(sessions, "session")} ${dryRun ? "would be" : sessions === 1 ? "is" : "are"} found in ${safe(places)}`,
  )
  return EXIT.ok
}

/** What is joined, as a hint. */
function joinsIn({ dataHome }: Pick<Environment, "dataHome">): string {
  const { joins } = readJoined(dataHome)
  if (joins.length === 0) return "no project is joined with another"
  const named = joins
    .slice(-MOST_NAMED)
    .map(({ from, to }) => `${folderOf(from)} with ${folderOf(to)}`)
    .join(", ")
  return `joined ${joins.length === 1 ? "is" : "are"} ${named}${joins.length > MOST_NAMED ? ", …" : ""}`
}

/**
 * The project that is archived under this name, whatever it is joined with.
 *
 * @throws CtxError exit 3 with those that may be meant
 */
function projectNamed(db: Database, { cwd }: Environment, name: string): ProjectSessions {
  const folder = resolve(cwd, name)
  const all = ownProjects(db)
  const there = statsOf(folder) === undefined ? undefined : projectAt(folder)
  const names = [there, folder, `${folder}/.git`]
  const found = names.map((one) => all.find(({ path }) => path === one)).find((one) => one !== undefined)
  if (found !== undefined) return found
  const folders = all.map(({ path }) => folderOf(path))
  const near = nearNames(basename(folder), [...new Set(folders.map((one) => basename(one)))])
  const meant = folders.filter((one) => near.includes(basename(one)))
  const some = (meant.length > 0 ? meant : folders).slice(0, MOST_NAMED).join(", ")
  throw new CtxError("not-found", `no session of ${folder} is archived`, {
    hint:
      folders.length === 0 ? "nothing is archived yet: ctxbridge import" : `archived are those of ${some}`,
    exit: EXIT.notFound,
  })
}
