/**
 * The answer of `search`: the best hits at length, a line for each other one, within its room; what may be wrong with
 * them, and what else there is. Pure.
 */

import { CtxError, EXIT } from "../../base/errors.ts"
import { count, lengthOf } from "../../base/text.ts"
import type { ColdFound } from "../../find/cold.ts"
import { correctionNote, partialNote } from "../../find/corrected-query.ts"
import type { FarAnswer, FarHit } from "../../find/elsewhere.ts"
import type { Hit } from "../../find/hit.ts"
import { roomOfHits } from "../../find/hit-budget.ts"
import type { NothingFound } from "../../find/nothing-found.ts"
import type { FindResult } from "../../find/search-steps.ts"
import type { FoundTurns } from "../../find/search-turns.ts"
import { name } from "../../restore/quote.ts"
import { isNotesSession } from "../../views/notes-session.ts"
import { shortNameOf } from "../../views/project.ts"
import type { WholeHit } from "./hit-passages.ts"
import { DATA, minute, nameOr, plain, safeError, strange } from "./hit-passages.ts"

type AnyHit = Hit | FarHit

export interface OpenedHit {
  readonly hit: AnyHit
  /** Undefined if the turn was not opened. */
  readonly whole: WholeHit | undefined
  /** The higher the better; comparable within a result only. */
  readonly score: number
}

/** How many hits are shown at length. */
export const AT_LENGTH = 3
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

/** Turns out of the index that have more of the words than what is in it, a line each. */
export function coldLines({ hits, isCut }: ColdFound, isMixed: boolean): string[] {
  if (hits.length === 0) return []
  const lines = hits.map((hit) => hitLine({ ...hit, handle: hit.handle!, seq: hit.seq!, score: 1 }, isMixed))
  return [`Older, out of the index${isCut ? ", as far as they were looked through" : ""}:`, ...lines]
}

/**
 * How many turns other projects have, if their best is better. What is in them is for whoever asks: this project's
 * conversation may be read by others than theirs.
 */
export const othersLine = ({ turns, more }: NonNullable<FindResult["others"]>): string =>
  `Other projects have better matches: ${more ? "at least " : ""}${count(turns, "turn")}; all_projects searches there.`

/** What did not answer elsewhere, and what was left out of what did. */
export function farNotes({ failures, leftOut }: FarAnswer): string[] {
  const told = failures.map(({ message }) => safeError(message)).join("; ")
  return [
    ...(failures.length === 0 ? [] : [`Not searched elsewhere: ${told}.`]),
    ...(leftOut === undefined ? [] : [`${safeError(leftOut)}.`]),
  ]
}

/** UTF-16 units of a line's texts. */
const LINE = 64
const ASKED = 36
/** How many of these may precede the first word that was searched for. */
const LEAD = 30
/** The least that a text is shortened to. */
const LEAST = 80

/**
 * A hit at length, quoted as JSON strings, so that nothing in it can end its quotation.
 *
 * @param room UTF-16 units for its passages
 * @param most for everything; what is beyond it is left out
 */
function hitAtLength(
  hit: AnyHit,
  whole: WholeHit | undefined,
  isMixed: boolean,
  room: number,
  most: number,
): string {
  const lines = whole?.lines()
  const head = `${hit.handle}${lines?.at === undefined ? "" : `@${lines.at}`} ${about(hit, lines, isMixed)}`
  const passages = whole?.passages(room) ?? [{ role: hit.role ?? "turn", text: hit.snippet }]
  let left = most - head.length
  return passages.reduce((text, { role, text: words }) => {
    const quoted = role === "human" || role === "assistant" ? plain : strange
    const line = `\n  ${role}: ${fitting(words, left - role.length - 6, quoted)}`
    if (line.length > left) return text
    left -= line.length
    return text + line
  }, head)
}

type Quoting = (text: string, limit: number) => string

/** Escapes take room as well. */
function fitting(words: string, room: number, quoted: Quoting): string {
  let limit = Math.max(LEAST, room)
  for (let tries = 0; ; tries++) {
    const line = JSON.stringify(quoted(words, limit))
    if (line.length <= room + 2 || limit <= LEAST || tries === 4) return line
    limit = Math.max(LEAST, limit - (line.length - room))
  }
}

function about(hit: AnyHit, lines: ReturnType<WholeHit["lines"]> | undefined, isMixed: boolean): string {
  return [
    ...(isMixed || "far" in hit ? [projectName(hit.project)] : []),
    `session ${sessionName(hit.session)} turn ${hit.seq}`,
    minute(hit.time),
    speakerOf(hit),
    ...(lines?.at === undefined ? [] : [`line ${lines.at} of ${lines.of}`]),
    ...marksOf(hit),
  ].join(", ")
}

/** One line for a hit. */
function hitLine(hit: AnyHit, isMixed: boolean): string {
  const where = [
    ...(isMixed || "far" in hit ? [projectName(hit.project)] : []),
    minute(hit.time),
    speakerOf(hit),
  ].join(", ")
  const said = JSON.stringify(quotingOf(hit)(around(hit.snippet, hit.marks), LINE))
  const asked = hit.prompt === null ? "" : ` (asked: ${JSON.stringify(plain(hit.prompt, ASKED))})`
  return `${hit.handle} ${where}: ${said}${asked}${marksOf(hit)
    .map((mark) => ` (${mark})`)
    .join("")}`
}

const marksOf = (hit: AnyHit): string[] => [
  ...("others" in hit ? ["written by others"] : []),
  ...(hit.takenBack ? ["rewound"] : []),
  ...(hit.isLost ? ["its copy is missing"] : []),
  ...("promptsOnly" in hit ? ["prompts only"] : []),
  ...("far" in hit ? [`from ${name(hit.far.machine ?? "another machine", 40)}`] : []),
  ...(hit.why.length === 0 && hit.score > 0 && !("far" in hit) ? ["by meaning"] : []),
]

/** Who said it, or the name of the tool. */
const speakerOf = ({ session, role, tool }: AnyHit): string =>
  isNotesSession(session) ? "note by the model" : tool === null ? (role ?? "turn") : nameOr(tool, "tool")

const quotingOf = ({ session, role, tool }: AnyHit): Quoting =>
  isNotesSession(session) || (tool === null && (role === "human" || role === "assistant")) ? plain : strange

export const projectName = (project: string | null): string =>
  name(shortNameOf(project ?? "") ?? "unknown", 40)

/** As much of the host's name of a session as tells it from others. */
const sessionName = (session: string): string =>
  /^[\da-f]{8}-[\da-f]{4}-/.test(session) ? session.slice(0, 8) : name(session, 24)

/** Starts the snippet late enough that the first word that was searched for is within what is shown. */
function around(snippet: string, [first]: Hit["marks"]): string {
  const from = first === undefined || first[1] < LINE - LEAD ? 0 : first[0] - LEAD
  return from <= 0 ? snippet : `…${snippet.slice(from).replace(/^[\udc00-\udfff]/, "")}`
}

/** A result is weak when its best turn lacks more than this share of the query's words. */
const WEAK = 0.5

/** What the model should know before it takes a result for the answer. */
export function doubts({
  hits,
  words: { asked, lacking },
  isLoose,
  corrections,
  partial = [],
}: FoundTurns): string[] {
  if (hits.length === 0) return []
  const corrected = correctionNote(corrections)
  if (corrected !== undefined) return [corrected]
  const whole = partialNote(partial.map((name) => plain(name, 120)))
  if (whole !== undefined) return [whole]
  if (isLoose) return ["No exact match; these have some of the words."]
  if (asked.length > 0 && hits[0]!.why.length === 0)
    return ["Weak: found by meaning only; the words of the query are not in it."]
  if (lacking.length <= WEAK * asked.length) return []
  return [
    `Weak: the best hit lacks ${lacking.length} of ${asked.length} words: ${plain(lacking.join(", "), 120)}.`,
  ]
}

/**
 * Why nothing was found, as far as filters are the reason.
 *
 * @throws CtxError for a tool that nobody has: that is a wrong argument, not a search without hits
 */
export function reasons({ unknownTool, emptiedBy }: NothingFound): string[] {
  if (unknownTool !== undefined) {
    const near = unknownTool.near.map((name) => nameOr(name, "")).filter(Boolean)
    throw new CtxError(
      "not-found",
      `no call of a tool named ${JSON.stringify(unknownTool.name)} is archived`,
      {
        hint:
          near.length > 0
            ? `did you mean ${near.join(" or ")}?`
            : "without tool, hits name the tools there are",
        exit: EXIT.notFound,
      },
    )
  }
  // That other projects have some is told besides.
  if (emptiedBy === undefined || emptiedBy.filters.includes("project")) return []
  const { filters, turns, isMore } = emptiedBy
  return [`Without ${filters.join(", ")}: ${isMore ? "more than " : ""}${count(turns, "turn")}.`]
}
