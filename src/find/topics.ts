/** What a question about earlier work is about, and the files of a topic. */
import { withSlashes } from "../base/path.ts"
import { wordSet } from "../base/words.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { pathNamed, type TakenBack, takenBackOf, type Whose } from "../views/queries/scope.ts"
import {
  type FileOfTurn,
  filesWithTurn,
  type PathIn,
  type TouchRow,
  touchRows,
} from "../views/queries/touched-files.ts"
import { hasWord } from "./fts-expression.ts"
import { typedPath } from "./narrowing.ts"
import { parseQuery } from "./parse-query.ts"
import type { Ranked } from "./rank.ts"
import { rankedTurns } from "./search-turns.ts"

export interface Topic {
  readonly db: Database
  readonly dataHome: string
  readonly readers: CopyReaders
  readonly text: string
  /** Undefined: all projects. */
  readonly project: string | undefined
  /** Name of an agent; undefined: all. */
  readonly program?: string | undefined
  /** How many answers, best first, are read from the vault in full; the others are as short as the views keep them. */
  readonly limit: number
}

/** Number of turns whose files are considered. */
const TURNS = 25

/** Where a path is typed: it may begin with `~/` or `../`. */
interface PathContext {
  readonly folder: string
  readonly home: string
}

/**
 * Files that the text names come first, then those of the topic that it is. What commands alone had is last of those that
 * are named, or of all if only a word names it: it may be no file, as the path of a page.
 */
export function filesOfTopic(
  { db, dataHome, readers, text, project, program }: Topic,
  { folder, home }: PathContext,
): TopicFile[] {
  const touches = touchesOf(db, typedPath(text, folder, home), { project, program }, true)
  const known = new Set(
    touches.filter(({ ops }) => ops.some((op) => op !== "command")).map(({ path }) => path),
  )
  const [files, mentions] = [true, false].map((is) => touches.filter(({ path }) => known.has(path) === is))
  const isPath = /[./]/.test(text)
  const { turns } = rankedTurns(db, dataHome, { query: text, project, program }, readers)
  const all: TopicFile[] = [
    ...filesNamed([...files!, ...(isPath ? mentions! : [])]),
    ...filesAbout(db, text, turns.slice(0, TURNS)),
    ...filesNamed(isPath ? [] : mentions!).map(({ named: _, ...file }) => ({ ...file, score: 0 })),
  ]
  return [...Map.groupBy(all, ({ path }) => path).values()].map(([first]) => first!)
}

/* Files related to a topic, found through the turns about it; and the turns that touched a file. */

/** Taken back is the turn that is named. */
export interface TopicFile extends TakenBack {
  readonly path: string
  readonly ops: readonly string[]
  readonly turns: number
  /** The turn closest to the topic; of a file that is named, the last one that changed it, or else touched it. */
  readonly handle: string
  readonly time: string | null
  readonly score: number
  /** Number of files that the text names, if it names this one. */
  readonly named?: number
}

/** @param touches newest first */
function filesNamed(touches: readonly Touch[]): TopicFile[] {
  const files = [...Map.groupBy(touches, ({ path }) => path)]
  return files.map(([path, all]) => {
    const ops = [...new Set(all.flatMap((one) => one.ops))].sort()
    const last = all.find((one) => one.ops.some(isChange)) ?? all[0]!
    const { handle, time, takenBack } = last
    const figures = { ops, turns: all.length, handle, time, score: NAMED, named: files.length }
    return { path, ...figures, ...(takenBack && { takenBack }) }
  })
}

const isChange = (op: string): boolean => op === "edit" || op === "write"

/** A change says more than a read, and a mention in a command says least. */
const WEIGHTS: Readonly<Record<string, number>> = { edit: 1, write: 1, read: 0.5, command: 0.3 }
/** Bonus for a path that contains all of the topic's words, relative to the best turn's score. */
const NAMED = 1

/**
 * A path relative to the session's folder is replaced by the absolute one when that occurs as well, since both are the
 * same file.
 */
function wholePaths(all: readonly PathIn[]): (one: PathIn) => string {
  const known = new Set(all.map(({ path }) => path))
  return ({ path, cwd }) => {
    if (cwd === null || /^(?:[/~]|[A-Z]:\/)/.test(path)) return path
    const whole = `${withSlashes(cwd)}/${path.replace(/^\.\//, "")}`
    return known.has(whole) ? whole : path
  }
}

/** @param ranked the turns about the topic */
function filesAbout(db: Database, topic: string, ranked: readonly Ranked[]): TopicFile[] {
  const { terms } = parseQuery(topic)
  const found = new Map<string, { ops: Set<string>; handles: Set<string>; score: number; one: FileOfTurn }>()
  // A query of filters alone ranks nothing.
  const top = ranked[0]?.score ?? 0
  const touched = ranked.flatMap(({ turn, score }) => filesWithTurn(db, turn).map((one) => ({ one, score })))
  const wholeOf = wholePaths(touched.map(({ one }) => one))
  for (const { one, score } of touched) {
    const path = wholeOf(one)
    const share = (top > 0 ? score / top : 1) * (WEIGHTS[one.op] ?? 0.3)
    const known = found.get(path)
    if (known === undefined) {
      const own = wordSet(path)
      const named =
        terms.filter(({ word, isPrefix }) => hasWord(own, word, isPrefix)).length / Math.max(1, terms.length)
      const ops = new Set([one.op])
      found.set(path, { ops, handles: new Set([one.handle]), score: share + NAMED * named, one })
      continue
    }
    known.ops.add(one.op)
    known.handles.add(one.handle)
    known.score += share
  }
  return [...found]
    .map(([path, { ops, handles, score, one }]) => ({
      path,
      ops: [...ops].sort(),
      turns: handles.size,
      handle: one.handle,
      time: one.time,
      score: Math.round(score * 1000) / 1000,
      ...takenBackOf(one),
    }))
    .sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1))
}

export interface Touch extends TakenBack, Omit<TouchRow, "cwd" | "ops" | "takenBack"> {
  readonly ops: readonly string[]
}

/**
 * Turns that touched a file, newest first: with `reads`, all of them. Without, those that edited or wrote it, and then those
 * with a command that names it, which may have changed it or not.
 */
export function touchesOf(db: Database, file: string, whose: Whose, reads: boolean): Touch[] {
  const rows = touchRows(db, pathNamed(file), whose)
  const wholeOf = wholePaths(rows)
  const touches = new Map<string, Touch>()
  for (const { cwd, ops, takenBack, ...row } of rows) {
    const path = wholeOf({ path: row.path, cwd })
    const key = `${row.handle} ${path}`
    const all = new Set([...(touches.get(key)?.ops ?? []), ...ops.split(" ")])
    touches.set(key, { ...row, path, ops: [...all].sort(), ...takenBackOf({ takenBack }) })
  }
  if (reads) return [...touches.values()]
  const [changes = [], others = []] = [true, false].map((wanted) =>
    [...touches.values()].filter(({ ops }) => ops.some(isChange) === wanted),
  )
  return [...changes, ...others.filter(({ ops }) => ops.some((op) => op !== "read"))]
}
