/**
 * Sums of each session, from which all figures are put together. They are kept beside the archive as long as the views
 * have nothing new of the session, so that a look after a day's work sums up that day alone.
 */
import { tryTo } from "../../base/files.ts"
import { rmSync } from "../../base/fs.ts"
import { hashName, readJson, writeJson } from "../../base/json-files.ts"
import { errorLinesIn } from "../../record/error-lines.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import { add, nothing, type Sum } from "../../restore/window/spending.ts"
import { type Database, databasePath } from "../../views/database.ts"
import { databaseState, fileIdentity, keptFile, programState } from "../../views/kept-pages.ts"
import { type PriceList, priceKey, requestCost } from "../../views/prices.ts"
import {
  callsFailed,
  type FailedCall,
  filesEdited,
  forks,
  requestsIn,
  type SessionMark,
  sessionStates,
  sharingMessages,
  type ToolTotal,
  toolTotals,
  turnsDone,
  useOfSessions,
} from "../../views/queries/token-use.ts"
import { quarterOf } from "./activity-grid.ts"

/** A quarter of an hour, by its number since the epoch; null: nobody knows when. */
type Quarter = number | null

/** Requests to a model within a quarter of an hour. */
interface RequestSum extends Sum {
  readonly quarter: Quarter
  /** As prices are named. */
  readonly model: string
}

export interface ErrorSum {
  /** The line that names it, as it was the last time. */
  readonly error: string
  readonly tool: string
  readonly times: number
  /** Turns in which it came up. */
  readonly turns: number
  readonly first: string | null
  readonly last: string | null
  /** The latest turn, with `ctx:`. */
  readonly handle: string
  /** Id of the latest message that holds it. */
  readonly message: number
  /** The turn in which the last such call succeeded later; undefined: nobody has looked. */
  solvedIn?: string | null
}

/** Without names, since there are thousands; the last one is the number of the latest turn. */
type SummedFile = readonly [
  path: string,
  edits: number,
  failed: number,
  turns: number,
  handle: string,
  latest: number,
]

/** Of one session, or of one subagent. */
interface Sums {
  readonly requests: RequestSum[]
  readonly turns: [Quarter, number][]
  interrupted: number
  takenBack: number
  readonly tools: ToolTotal[]
  readonly files: SummedFile[]
  /** By what makes two errors one. */
  errors: Readonly<Record<string, ErrorSum>>
  /** Calls that failed. */
  readonly failures: [Quarter, number][]
  /** What Claude Code itself says it has cost, subagents included. */
  told: number | null
}

export interface SummedSession extends Sums {
  /** That of the human: a subagent's sums are its parent's. */
  readonly session: string
  readonly project: string | null
  readonly program: string
}

export interface Summed {
  readonly sessions: readonly SummedSession[]
  /** Keeps what is new; `isMore`: something was found out about errors. */
  readonly keep: (isMore: boolean) => void
}

interface SumsWanted {
  /** Its number; undefined: every project. */
  readonly project?: number | undefined
  /** ISO 8601 in UTC. */
  readonly since?: string | undefined
  readonly program?: string | undefined
}

export function sumsOf(
  db: Database,
  dataHome: string,
  { project, since, program }: SumsWanted,
  prices: PriceList,
): Summed {
  const states = sessionStates(db)
  const isWanted = (one: SessionMark): boolean =>
    (project === undefined || one.project === project) && (program === undefined || one.program === program)
  // What began then is within a session, of which no sums are kept.
  const { sums, keep } =
    since === undefined
      ? keptSums(db, dataHome, states, prices)
      : { sums: sumUp(db, states, { since }, prices), keep: () => {} }
  const sessions = states.flatMap((one) => {
    const own = isWanted(one) ? sums.get(one.id) : undefined
    if (own === undefined) return []
    return [Object.assign(own, { session: one.parent ?? one.id, project: one.path, program: one.program })]
  })
  return { sessions, keep }
}

/* What is kept. A message counts once, whoever holds it: sessions that share one are summed up together. */

interface KeptSums {
  /** All else that decides them. */
  readonly head: string
  /** By session: what it was when it was seen which others hold messages of it. */
  readonly shares: Record<string, { readonly state: string; readonly others: readonly string[] }>
  /** By the first session of those that are summed up together. */
  readonly families: Record<string, { readonly state: string; readonly sums: Record<string, Sums> }>
}

/** Writing down all costs more than summing up so many anew; and what has just grown mostly goes on growing. */
const FEW = 2

function keptSums(
  db: Database,
  dataHome: string,
  states: readonly SessionMark[],
  prices: PriceList,
): { sums: Map<string, Sums>; keep: (isMore: boolean) => void } {
  const before = databaseState(dataHome)
  const file = keptFile(dataHome, "sums")
  const head = hashName(JSON.stringify([programState(), fileIdentity(databasePath(dataHome)), [...prices]]))
  const read = readJson(file) as KeptSums | undefined
  const kept: KeptSums = read?.head === head ? read : { head, shares: {}, families: {} }
  const shares: KeptSums["shares"] = {}
  for (const { id, state } of states) {
    const known = kept.shares[id]
    shares[id] = known?.state === state ? known : { state, others: sharingMessages(db, id) }
  }
  const families: KeptSums["families"] = {}
  const sums = new Map<string, Sums>()
  const missing: { readonly first: string; readonly state: string; readonly members: readonly string[] }[] =
    []
  for (const [first, members] of familiesOf(db, states, shares)) {
    const state = hashName(JSON.stringify(members.map((id) => [id, shares[id]!.state])))
    const known = kept.families[first]
    if (known?.state === state) {
      families[first] = known
      for (const [id, own] of Object.entries(known.sums)) sums.set(id, own)
    } else missing.push({ first, state, members })
  }
  if (missing.length > 0) {
    const all = missing.flatMap(({ members }) => members)
    const anew = sumUp(db, states, { sessions: all.length < states.length / 2 ? all : undefined }, prices)
    for (const { first, state, members } of missing) {
      const own = members.flatMap((id) => (anew.has(id) ? [[id, anew.get(id)!] as const] : []))
      families[first] = { state, sums: Object.fromEntries(own) }
      for (const [id, one] of own) sums.set(id, one)
    }
  }
  const keep = (isMore: boolean): void => {
    if (missing.length <= (read?.head === head ? FEW : 0) && !isMore) return
    // Where nothing can be written, they are summed up each time.
    tryTo(() => writeJson(file, { head, shares, families } satisfies KeptSums))
    // Somebody may have forgotten what is in it just then.
    if (databaseState(dataHome) !== before) tryTo(() => rmSync(file))
  }
  return { sums, keep }
}

/** Sessions that are summed up together, by the first of them: with subagents, forks, and whoever else holds a message. */
function familiesOf(
  db: Database,
  states: readonly SessionMark[],
  shares: KeptSums["shares"],
): Map<string, string[]> {
  const up = new Map(states.map(({ id }) => [id, id]))
  const first = (id: string): string => {
    let at = id
    while (up.get(at) !== at) at = up.get(at)!
    return at
  }
  const join = (a: string, b: string | null): void => {
    if (b === null || !up.has(a) || !up.has(b)) return
    const [one, other] = [first(a), first(b)]
    if (one < other) up.set(other, one)
    else up.set(one, other)
  }
  for (const { id, parent } of states) join(id, parent)
  for (const { child, parent } of forks(db)) join(child, parent)
  for (const [id, { others }] of Object.entries(shares)) for (const other of others) join(id, other)
  return Map.groupBy(
    states.map(({ id }) => id),
    first,
  )
}

/* Summing up. */

const none = (): Sums => ({
  requests: [],
  turns: [],
  interrupted: 0,
  takenBack: 0,
  tools: [],
  files: [],
  errors: {},
  failures: [],
  told: null,
})

function sumUp(
  db: Database,
  states: readonly SessionMark[],
  span: { readonly since?: string; readonly sessions?: readonly string[] | undefined },
  prices: PriceList,
): Map<string, Sums> {
  const all = new Map<string, Sums>()
  const of = (session: string): Sums => {
    const found = all.get(session) ?? none()
    all.set(session, found)
    return found
  }
  const turns = new Counter()
  for (const { session, time, interrupted, takenBack } of turnsDone(db, span)) {
    const own = of(session)
    own.interrupted += interrupted
    own.takenBack += takenBack
    turns.count(session, quarterOf(time))
  }
  turns.into((session) => of(session).turns)
  const requests = new Map<string, RequestSum>()
  for (const { own, time, model, fast, ...tokens } of requestsIn(db, span)) {
    const quarter = quarterOf(time)
    const key = priceKey(model, fast === 1)
    const at = `${quarter} ${key} ${own}`
    let sum = requests.get(at)
    if (sum === undefined) {
      sum = { quarter, model: key, ...nothing() }
      requests.set(at, sum)
      of(own).requests.push(sum)
    }
    const cost = requestCost(prices, model, { ...tokens, fast })
    add(sum, tokens, cost)
  }
  for (const { session, ...tool } of toolTotals(db, span)) of(session).tools.push(tool)
  for (const { session, path, edits, failed, turns, handle, latest } of filesEdited(db, span))
    of(session).files.push([path, edits, failed, turns, handle, latest])
  const failed = Map.groupBy(callsFailed(db, span), ({ session }) => session)
  const failures = new Counter()
  for (const [session, calls] of failed) {
    for (const { time } of calls) failures.count(session, quarterOf(time))
    of(session).errors = Object.fromEntries(errorSums(calls))
  }
  failures.into((session) => of(session).failures)
  if (span.since === undefined) {
    const mains = states.flatMap(({ id, parent }) => (parent === null && all.has(id) ? [id] : []))
    for (const [id, { cost }] of useOfSessions(db, mains)) of(id).told = cost
  }
  return all
}

/** How often something was in a quarter of an hour. */
class Counter {
  readonly #counts = new Map<string, Map<Quarter, number>>()

  count(session: string, quarter: Quarter): void {
    const own = this.#counts.get(session) ?? new Map<Quarter, number>()
    this.#counts.set(session, own)
    own.set(quarter, (own.get(quarter) ?? 0) + 1)
  }

  into(listOf: (session: string) => [Quarter, number][]): void {
    for (const [session, own] of this.#counts) listOf(session).push(...own)
  }
}

/* Errors that come up again: the same line, whatever numbers, ids and folders are in it. Pure. */

/** @param failed in the order in which they happened @returns by what makes two of them one */
export function errorSums(failed: Iterable<FailedCall>): Map<string, ErrorSum> {
  const found = new Map<string, ErrorSum>()
  for (const { tool, error, result, handle, time } of failed) {
    const [line] = errorLinesIn(error, true)
    if (line === undefined) continue
    const key = essenceOf(line)
    const known = found.get(key)
    const isNewTurn = known?.handle !== HANDLE_PREFIX + handle
    found.set(key, {
      error: line,
      tool,
      times: (known?.times ?? 0) + 1,
      turns: (known?.turns ?? 0) + (isNewTurn ? 1 : 0),
      first: known?.first ?? time,
      last: time,
      handle: HANDLE_PREFIX + handle,
      message: result,
    })
  }
  return found
}

/** Without what differs between two occurrences of one error. */
const essenceOf = (line: string): string =>
  line
    .replace(/(?:[A-Za-z]:)?(?:[\w.@~-]*[\\/])+(?=[\w.@-])/g, "")
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{7,}\b/gi, "#")
    .replace(/\d+/g, "#")
    .toLowerCase()
