/** Turns from elsewhere for the model: found besides those here, and opened as numbered lines. */
import type { Database } from "../archive/database.ts"
import type { EntryVector } from "../backends/entry.ts"
import { blockQuote } from "../restore/quote.ts"
import { findFar, leftOut, openFar, refuseUnknown, withFar } from "../search/far-finder.ts"
import { farHandle } from "../search/far-handle.ts"
import type { FarEntry, FarHit } from "../search/far-hit.ts"
import type { Narrowing } from "../search/narrowing.ts"
import { parseQuery } from "../search/parse-query.ts"
import type { FoundTurns } from "../search/search-turns.ts"
import { CtxError, EXIT, usageError } from "../util/errors.ts"
import { shortLines } from "../util/pages.ts"
import { cut } from "../util/text.ts"
import type { OpenedHit } from "./closest-first.ts"
import type { WholeHit } from "./hit-passages.ts"
import { safeError } from "./quoting.ts"
import type { ToldLine } from "./told-turn.ts"
import type { ServerWorld } from "./tool.ts"

/** The turn as `get` tells it: who is asked for, without the lines. */
export interface FarTurn {
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly started: string | null
  readonly takenBack: boolean
  /** What it was about. */
  readonly prompt: string
  /** The computer that sent it. */
  readonly from: string
}

export interface AlsoFar {
  readonly hits: readonly OpenedHit[]
  readonly more: boolean
  /** Lines about what did not answer. */
  readonly notes: readonly string[]
}

/**
 * What a target has is put among the hits from here. If none answers, one line says so.
 *
 * @throws CtxError exit 64 for what a target cannot be asked
 */
export async function withFarTurns(
  world: ServerWorld,
  { words, terms, more }: FoundTurns,
  opened: readonly OpenedHit[],
  asked: Narrowing & {
    readonly query: string
    readonly limit: number
    readonly projectName: string | undefined
  },
  db: Database,
  vector: EntryVector | undefined,
): Promise<AlsoFar> {
  const { role, error, query, project: _project, ...narrowing } = asked
  if (role !== undefined || error === true)
    throw usageError("role and error are not known elsewhere", "leave them out, or search without everywhere")
  const parsed = parseQuery(query)
  refuseUnknown(parsed)
  const request = { ...narrowing, query: parsed, weights: terms, vector }
  const { found, failures } = await findFar(world.targets, request, { place: world, db })
  const told = failures.map(({ message }) => safeError(message)).join("; ")
  const out = found && leftOut(found)
  const notes = [
    ...(failures.length === 0 ? [] : [`Not searched elsewhere: ${told}.`]),
    ...(out === undefined ? [] : [`${safeError(out)}.`]),
  ]
  if (found === undefined) return { hits: opened, more, notes }
  const known = new Map(opened.map((one) => [one.hit.handle, one]))
  const local = opened.map(({ hit }) => hit)
  const hits = withFar(local, words, found).map((hit): OpenedHit => {
    const whole = known.get(hit.handle)?.whole
    return { hit, whole: whole ?? ("far" in hit ? snippetOf(hit) : undefined), score: hit.score }
  })
  return { hits, more: more || found.more, notes }
}

/** What was found elsewhere is not opened: its passages came with it. */
const snippetOf = ({ snippet }: FarHit): WholeHit => ({
  together: 1,
  wants: snippet.length,
  lines: () => ({ at: undefined, of: 0 }),
  passages: (room) => [{ role: "turn", text: cut(snippet, room) }],
})

/** @param id the beginning of the entry's id */
export async function farTurn(
  world: ServerWorld,
  id: string,
): Promise<{ readonly turn: FarTurn; readonly lines: ToldLine[] }> {
  if (world.targets.length === 0)
    throw usageError(`${farHandle(id)} is kept elsewhere, and no sync target is configured`)
  const found = await openFar(world.targets, id, { place: world })
  if (found === undefined) {
    throw new CtxError("not-found", `no turn ${farHandle(id)} there`, {
      hint: "it may have been forgotten, or has grown: search again",
      exit: EXIT.notFound,
    })
  }
  const { entry, target } = found
  return { turn: turnOfEntry(entry, target), lines: linesOf(entry) }
}

const turnOfEntry = ({ id, summary, metadata }: FarEntry, target: string): FarTurn => ({
  handle: farHandle(id),
  session: metadata.sessionId,
  seq: metadata.chunkIndex,
  started: metadata.timestamp,
  takenBack: metadata.takenBack,
  prompt: summary,
  from: metadata.machine ?? target,
})

/** A line of tool output may be a whole file. */
const LONGEST_LINE = 2000

/** All of it is quoted: nothing tells what in it is a title and what somebody said. */
const linesOf = ({ content }: FarEntry): ToldLine[] =>
  blockQuote(content.trimEnd())
    .split("\n")
    .flatMap((line) => shortLines(line, LONGEST_LINE).map((piece, n) => (n === 0 ? piece : `> ${piece}`)))
    .map((text) => ({ text, title: "turn:", message: 0, isAnswer: false }))
