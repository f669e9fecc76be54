/** The answer of `search`: the best hits at length, a line for each other one, within its room. Pure. */
import { roomOfHits } from "../search/hit-budget.ts"
import { count, lengthOf } from "../util/text.ts"
import { AT_LENGTH, type OpenedHit } from "./closest-first.ts"
import { hitAtLength, hitLine } from "./found-turns.ts"
import { DATA } from "./quoting.ts"

/** Hits when no number is asked for. */
export const USUAL_HITS = 8
/** UTF-16 units of everything, and of the passages of all hits. */
const ROOM = 3500
const PASSAGES = 2500
const LEAST_PASSAGES = 1000
/** What a line takes of the passages' room when more of them are asked for. */
const TAKEN = 100

const NEXT = "Next: `get` with one or several handles as written (@: line of the match) and the query."
const MORE = "There are more hits: other words or filters."

interface Asked {
  readonly limit: number
  readonly scope: string
  /** Whether hits may be of several projects. */
  readonly isMixed: boolean
  /** What is doubtful of them, and what else there is, a line each. */
  readonly notes: readonly string[]
  /** What follows the hits. */
  readonly below: readonly string[]
  /** Whether there are more hits. */
  readonly more: boolean
}

/** @param hits in the order in which they are shown */
export function searchAnswer(
  hits: readonly OpenedHit[],
  { limit, scope, isMixed, notes, below, more }: Asked,
): string {
  const head = [`${count(hits.length, "hit")} in ${scope}. ${DATA}`, ...notes]
  let left = ROOM - lengthOf([...head, "", MORE, NEXT, ...below])
  const budget = Math.max(LEAST_PASSAGES, PASSAGES - TAKEN * Math.max(0, limit - USUAL_HITS))
  const rooms = roomOfHits(
    hits.slice(0, AT_LENGTH).map(({ score, whole }) => ({ score, wants: whole?.wants ?? 0 })),
    budget,
  )
  const shown: string[] = []
  for (const [n, { hit, whole }] of hits.entries()) {
    const text =
      n < AT_LENGTH
        ? `\n${hitAtLength(hit, whole, isMixed, rooms[n]!, left - 2)}`
        : `${n === AT_LENGTH ? "\n" : ""}${hitLine(hit, isMixed)}`
    if (text.length + 1 > left) break
    shown.push(text)
    left -= text.length + 1
  }
  const isCut = more || shown.length < hits.length
  return [...head, ...shown, "", isCut ? `${MORE} ${NEXT}` : NEXT, ...below].join("\n")
}

/** @param isQuoting whether something is quoted below it all the same */
export const nothingIn = (scope: string, isMixed: boolean, isQuoting: boolean): string =>
  `0 hits in ${scope}. Nothing found: try fewer or other words, fewer filters${isMixed ? "" : " or all_projects"}.` +
  (isQuoting ? ` ${DATA}` : "")

/** When only turns out of the index were found, a line each. */
export const coldAnswer = (scope: string, lines: readonly string[]): string =>
  [`0 hits in the index of ${scope}. ${DATA}`, ...lines, NEXT].join("\n")
