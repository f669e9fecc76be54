/** Why a search found nothing: a tool of which nothing is archived, or filters that let nothing through. */
import { toolsKnown } from "../agents/tool-kinds.ts"
import { nearNames } from "../base/text.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { toolsCalled } from "../views/queries/calls.ts"
import { newestMatches } from "../views/queries/word-matches.ts"
import { filterWord } from "../views/word-index.ts"
import { quoted } from "./fts-expression.ts"
import type { Narrowing } from "./narrowing.ts"
import { fieldsOf, parseQuery } from "./parse-query.ts"
import { matchingTurns, type SearchRequest } from "./search-turns.ts"

export interface NothingFound {
  readonly unknownTool?: {
    readonly name: string
    /** Names of tools that are like it. */
    readonly near: readonly string[]
  }
  readonly emptiedBy?: {
    /** One if it alone is the reason, else all. */
    readonly filters: readonly (keyof Narrowing)[]
    /** How many turns there are without these filters, at least. */
    readonly turns: number
    readonly isMore: boolean
  }
}

/** In the order in which they are suspected. */
const FILTERS = [
  "tool",
  "role",
  "error",
  "file",
  "program",
  "labelled",
  "since",
  "until",
  "session",
  "project",
] as const satisfies readonly (keyof Narrowing)[]

/** ms to tell which of several filters is the reason. */
const PATIENCE = 25

export function whyNothing(
  db: Database,
  dataHome: string,
  request: SearchRequest,
  readers: CopyReaders,
): NothingFound {
  const tools = [request.tool ?? [], fieldsOf(parseQuery(request.query).must, "tool")].flat()
  for (const name of tools) {
    if (isKnownTool(db, name)) continue
    // Agents' tools may differ in case only, which a search does not tell apart: those that are archived come first.
    const known = [...toolsKnown().toReversed(), ...toolsCalled(db).toReversed()]
    const once = new Map(known.map((tool) => [tool.toLowerCase(), tool]))
    return { unknownTool: { name, near: nearNames(name, [...once.values()]) } }
  }
  const given = FILTERS.filter((name) => request[name] !== undefined && request[name] !== false)
  const without = (...filters: readonly (keyof Narrowing)[]) => {
    const wider = { ...request, ...Object.fromEntries(filters.map((name) => [name, undefined])) }
    return { filters, ...matchingTurns(db, dataHome, wider, readers) }
  }
  if (given.length === 0) return {}
  const all = without(...given)
  if (all.turns === 0) return {}
  if (given.length === 1) return { emptiedBy: all }
  const deadline = performance.now() + PATIENCE
  for (const name of given) {
    if (performance.now() > deadline) break
    const alone = without(name)
    if (alone.turns > 0) return { emptiedBy: alone }
  }
  return { emptiedBy: all }
}

/** Whether something of it is archived, or could be. */
function isKnownTool(db: Database, name: string): boolean {
  if (newestMatches(db, quoted(filterWord.tool(name)), undefined, 1).length > 0) return true
  return toolsKnown().some((known) => known.toLowerCase() === name.toLowerCase())
}
