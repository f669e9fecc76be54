/**
 * Projects whose folder was moved: their sessions count as those of the project in the new place. Noted in a file in the
 * data folder, because the vault stays as it is and views come and go; the views follow it.
 *
 * A repository is known again by its root commit, which must be noted while the folder is there (job/find-moves.ts).
 */

import { statsOf } from "../base/files.ts"
import { readJson, writeJson } from "../base/json-files.ts"
import { dirname, join } from "../base/path.ts"
import { isObject, stringOf } from "../record/json.ts"
import type { Database } from "./database.ts"
import { folderOf, isInFolder } from "./project.ts"
import { ownProjects } from "./queries/projects.ts"
import { dropPrepared } from "./reminders.ts"

export interface KnownRepository {
  /** undefined: none is known (yet), as in a repository without commits or a shallow one. */
  readonly root: string | undefined
  /** Where the file system begins that the folder is on. */
  readonly mount: string
  /** When its root commit was last asked for, in ms since the epoch. */
  readonly asked: number
}

export interface Join {
  /** Projects as the archive names them. */
  readonly from: string
  readonly to: string
  /** `commit`: joined by itself; `hand`: the user said so. */
  readonly by: "commit" | "hand"
}

export interface JoinedProjects {
  readonly known: Readonly<Record<string, KnownRepository>>
  readonly joins: readonly Join[]
  /** What the user has taken apart: not to be joined by itself again. */
  readonly apart: readonly Pick<Join, "from" | "to">[]
}

export const projectsFile = (dataHome: string): string => join(dataHome, "projects.json")

/** What cannot be read of it counts as not being there. */
export function readJoined(dataHome: string): JoinedProjects {
  const file = readJson(projectsFile(dataHome))
  const { known, joins, apart } = isObject(file) ? file : {}
  const repositories = Object.entries(isObject(known) ? known : {}).flatMap(([path, one]) => {
    if (!isObject(one)) return []
    const asked = typeof one["asked"] === "number" ? one["asked"] : 0
    const found: KnownRepository = {
      root: stringOf(one["root"]),
      mount: stringOf(one["mount"]) ?? "/",
      asked,
    }
    return [[path, found] as const]
  })
  const pairs = (list: unknown) =>
    (Array.isArray(list) ? list : []).flatMap((one) => {
      const [from, to] = isObject(one) ? [stringOf(one["from"]), stringOf(one["to"])] : []
      if (from === undefined || to === undefined || from === to) return []
      return [{ from, to, by: one.by === "hand" ? ("hand" as const) : ("commit" as const) }]
    })
  return {
    known: Object.fromEntries(repositories),
    joins: pairs(joins),
    apart: pairs(apart).map(({ from, to }) => ({ from, to })),
  }
}

/** A project that was moved twice is joined with where it is now. Later joins count; no chain is a circle. */
export function withJoin(file: JoinedProjects, added: Join): JoinedProjects {
  const { from, to } = added
  return {
    ...file,
    // What goes on in a project is not elsewhere: this is how one is moved back.
    joins: [...file.joins.filter((one) => one.from !== from && one.from !== to), added],
    apart: file.apart.filter((one) => !isPair(one, added) && !isPair(one, { from: to, to: from })),
  }
}

/** @param forGood whether it is not to be joined by itself again */
export function withoutJoin(file: JoinedProjects, { from, to }: Join, forGood: boolean): JoinedProjects {
  const joins = file.joins.filter((one) => !isPair(one, { from, to }))
  return { ...file, joins, apart: forGood ? [...file.apart, { from, to }] : file.apart }
}

type Pair = Pick<Join, "from" | "to">

const isPair = (one: Pair, other: Pair): boolean => one.from === other.from && one.to === other.to

/** The end of the chain that begins with this project. */
export function endOfJoins(joins: readonly Pair[], path: string): string {
  const seen = new Set([path])
  for (let at = path; ; ) {
    const next = joins.find(({ from }) => from === at)?.to
    if (next === undefined || seen.has(next)) return at
    seen.add(next)
    at = next
  }
}

/**
 * Changes the file and has the views follow.
 *
 * @returns what the file says now
 */
export function changeJoined(
  db: Database,
  dataHome: string,
  change: (file: JoinedProjects) => JoinedProjects,
): JoinedProjects {
  return db
    .transaction(() => {
      // Read under the lock of the database, so that nobody's change is lost.
      const before = readJoined(dataHome)
      const after = change(before)
      if (after !== before) writeJson(projectsFile(dataHome), after)
      if (joinProjects(db, after.joins)) dropPrepared(dataHome)
      return after
    })
    .immediate()
}

/**
 * Has the views say what the file says. Call inside a transaction.
 *
 * @param isEmpty whether no session is in the views yet: those that come will find their project joined
 * @returns whether anything was changed
 */
export function joinProjects(db: Database, joins: readonly Join[], isEmpty = false): boolean {
  const add = db.query("INSERT INTO projects (path) VALUES (?) ON CONFLICT DO NOTHING")
  if (isEmpty) for (const { from } of joins) add.run(from)
  const wrong = notFollowed(db, joins)
  for (const { id, to } of wrong) {
    if (to !== null) add.run(to)
    db.query("UPDATE projects SET joined = (SELECT id FROM projects WHERE path = ?) WHERE id = ?").run(to, id)
    db.query(
      `UPDATE sessions SET own = coalesce(own, project),
         project = coalesce((SELECT joined FROM projects WHERE id = ?1), ?1)
       WHERE own = ?1 OR (own IS NULL AND project = ?1)`,
    ).run(id)
    db.query("UPDATE sessions SET own = NULL WHERE own = ?1 AND project = ?1").run(id)
  }
  return wrong.length > 0
}

interface NotFollowed {
  readonly id: number
  /** What it should be joined with; null: nothing. */
  readonly to: string | null
}

/** Projects of which the views say something else than the file. */
export function notFollowed(db: Database, joins: readonly Join[]): NotFollowed[] {
  const wanted = new Map(joins.map(({ from }) => [from, endOfJoins(joins, from)]))
  return db
    .query<{ id: number; path: string; joined: string | null }, []>(
      "SELECT p.id, p.path, n.path AS joined FROM projects p LEFT JOIN projects n ON n.id = p.joined",
    )
    .all()
    .map(({ id, path, joined }) => ({ id, joined, to: wanted.get(path) ?? null }))
    .filter(({ joined, to }) => joined !== to)
}

/** Where a folder of a joined project is now; undefined: it is there, or is nowhere. */
export function folderNow(dataHome: string, folder: string): string | undefined {
  if (statsOf(folder) !== undefined) return undefined
  const { joins } = readJoined(dataHome)
  const from = joins.find((one) => isInFolder(folder, one.from))?.from
  if (from === undefined) return undefined
  const now = folderOf(endOfJoins(joins, from))
  const same = now + folder.slice(folderOf(from).length)
  return [same, now].find((one) => statsOf(one)?.isDirectory() === true)
}

/** Takes out what is said of projects of which nothing is archived any more. */
export function forgetProjects(db: Database, dataHome: string): void {
  const { known, joins, apart } = readJoined(dataHome)
  const there = new Set(ownProjects(db).map(({ path }) => path))
  // Where one was moved to is also a trace of it.
  for (const { from, to } of joins) if (there.has(from)) there.add(to)
  const isThere = ({ from, to }: Pair): boolean => there.has(from) && there.has(to)
  changeJoined(db, dataHome, (file) =>
    Object.keys(known).every((path) => there.has(path)) && joins.every(isThere) && apart.every(isThere)
      ? file
      : {
          known: Object.fromEntries(Object.entries(known).filter(([path]) => there.has(path))),
          joins: joins.filter(isThere),
          apart: apart.filter(isThere),
        },
  )
}

/** Where the file system begins that a folder is on. */
export function mountOf(folder: string): string {
  const device = statsOf(folder)?.dev
  let at = folder
  while (at !== dirname(at) && statsOf(dirname(at))?.dev === device) at = dirname(at)
  return at
}

/**
 * Whether the folder of a project is gone, and not only out of reach: what is on a drive that is not mounted has been
 * moved nowhere.
 */
export function isGone(project: string, mount: string): boolean {
  if (statsOf(folderOf(project)) !== undefined) return false
  const there = statsOf(mount)
  return there !== undefined && (mount === dirname(mount) || statsOf(dirname(mount))?.dev !== there.dev)
}

export interface Repository extends KnownRepository {
  readonly path: string
  /** `there`: in its place. `gone`: nothing is, or a link to the repository `at`. `away`: neither can be said. */
  readonly state: "there" | "gone" | "away"
  readonly at?: string
}

interface Moves {
  readonly file: JoinedProjects
  readonly joined: readonly Join[]
  /** Joined by themselves, and taken apart, as both folders are there. */
  readonly parted: readonly Join[]
}

/**
 * What has been moved where: only if a single one of a repository's known places is gone, and a single one is there.
 * Clones, forks and projects from one template share their root commit, and are never joined while both are there.
 */
export function movesAmong(file: JoinedProjects, repositories: readonly Repository[]): Moves {
  const byPath = new Map(repositories.map((one) => [one.path, one]))
  const stateOf = (path: string): Repository["state"] | undefined => byPath.get(path)?.state
  // The old folder is there again: it was moved back, or somebody has made another one.
  const back = file.joins.filter(
    ({ from, to, by }) => stateOf(from) === "there" && (by === "commit" || stateOf(to) === "gone"),
  )
  let after = back.reduce((now, one) => withoutJoin(now, one, false), file)
  const joined: Join[] = []
  const free = repositories.filter(
    ({ path, root }) => root !== undefined && !after.joins.some(({ from }) => from === path),
  )
  for (const same of Map.groupBy(free, ({ root }) => root).values()) {
    const [to, another] = same.filter(({ state }) => state === "there")
    const [from, other] = same.filter(({ state }) => state !== "there")
    if (to === undefined || another !== undefined || from === undefined || other !== undefined) continue
    if (from.state !== "gone" || (from.at !== undefined && from.at !== to.path)) continue
    const pair: Join = { from: from.path, to: to.path, by: "commit" }
    if (after.apart.some((one) => isPair(one, pair))) continue
    after = withJoin(after, pair)
    joined.push(pair)
  }
  const parted = back.filter(({ from, to }) => !joined.some((one) => one.from === to && one.to === from))
  return { file: after, joined, parted: parted.filter(({ by }) => by === "commit") }
}
