/**
 * Turns of the project's other sessions on the current subject. Words decide what is related (find/related-turns.ts);
 * vectors made by the background job choose among the results. Nothing here loads a model.
 */

import { codeOf } from "../base/errors.ts"
import { HASHED_ID } from "../find/embed/hashed-words.ts"
import type { Clue } from "../find/related-turns.ts"
import {
  FOCUSED,
  FOCUSED_WITHIN,
  type Gate,
  placeOf,
  type RelatedTurn,
  relatedTurns,
} from "../find/related-turns.ts"
import type { Database } from "../views/database.ts"
import { projectOfSession } from "../views/queries/projects.ts"
import { kinships } from "../views/queries/transcripts.ts"
import { turnNames } from "../views/queries/turns.ts"
import { type ComparedVectors, isScale, isWholeRow, unpackVectors, vectorsBeside } from "../views/vectors.ts"
import type { RelatedLine } from "./material.ts"

/**
 * The found words should be within this many UTF-16 units of a prompt or answer as shown, with this many before them.
 */
const SEEN = 80
const LEAD = 20
/** How many turns' vectors are compared, the best by words. */
const COMPARED = 8
/** How many lines are gathered per line wanted: the restore or the summary may already contain some. */
const SPARE = 3

/** What turns of other sessions should be about. */
interface Subject {
  /** The user's own words, given for this purpose; turns about them come first. */
  readonly focus?: string | undefined
  readonly about: string
  /** Handle of the latest turn, if it began with `about`; it may have vectors. */
  readonly latest?: string | undefined
}

/**
 * An unreadable index loses these lines, but not the restore.
 *
 * @param most number of lines wanted; 0: nothing is searched
 */
export function gatherRelated(
  db: Database,
  session: string,
  { focus = "", about, latest }: Subject,
  most: number,
): RelatedLine[] {
  if (most === 0) return []
  return unlessUnreadable(() => {
    // Searched separately, since a long prompt's words would outweigh the few words of the focus.
    const found = [
      ...relatedTo(db, session, { prompt: focus, gate: FOCUSED }, most),
      ...relatedTo(db, session, { prompt: about, latest }, most),
    ]
    const once = new Map<string, RelatedLine>()
    for (const line of found) if (!once.has(line.handle)) once.set(line.handle, line)
    return [...once.values()]
  })
}

/**
 * Turns of the session itself about the user's words for the compaction, however long ago they were.
 *
 * @param most number of lines wanted
 */
export function gatherFocused(db: Database, session: string, focus: string, most: number): RelatedLine[] {
  return unlessUnreadable(() =>
    relatedTo(db, session, { prompt: focus, gate: FOCUSED_WITHIN, within: session }, most),
  )
}

function unlessUnreadable(find: () => RelatedLine[]): RelatedLine[] {
  try {
    return find()
  } catch (error) {
    if (!codeOf(error).startsWith("SQLITE_")) throw error
    return []
  }
}

interface Asked {
  readonly prompt: string
  readonly latest?: string | undefined
  readonly gate?: Gate
  /** Only this session; by default, the project's others. */
  readonly within?: string
}

function relatedTo(
  db: Database,
  session: string,
  { prompt, latest, gate, within }: Asked,
  most: number,
): RelatedLine[] {
  if (prompt.trim() === "") return []
  const about = projectOfSession(db, session)
  if (about === null) return []
  const { project, path } = about
  const scope = within === undefined ? { except: kinOf(db, session) } : { except: [], within }
  const found = relatedTurns(db, { prompt, project, name: path, ...scope }, gate)
  const ordered = latest === undefined ? found : byMeaning(db, latest, found)
  return linesOf(db, ordered.slice(0, most * SPARE))
}

/**
 * The session itself, all sessions joined to it by fork or resume, since those contain the same lines, and those joined
 * to it by /clear, since it was given theirs when it began.
 */
function kinOf(db: Database, session: string): string[] {
  const links = kinships(db, session)
  const kin = new Set([session])
  for (const one of kin) {
    for (const { child, parent, kind } of links) {
      if (kind === "fork" && child === one) kin.add(parent)
      if (kind === "fork" && parent === one) kin.add(child)
    }
  }
  for (const { child, parent, kind } of links)
    if (kind === "clear") kin.add(child === session ? parent : child)
  return [...kin]
}

/**
 * Turns with vectors from the same model as the latest turn's move up if they are near it. Only the order changes:
 * similarity says little about whether two turns are related.
 */
function byMeaning(db: Database, latest: string, found: readonly RelatedTurn[]): RelatedTurn[] {
  const compared = found.slice(0, COMPARED)
  if (compared.length < 2) return [...found]
  const others = compared.map(({ turn }) => turn)
  const rows = vectorsBeside(db, latest, HASHED_ID, others)
  const vectors = new Map(rows.filter(isWholeRow).map((row) => [row.turn, meanOf(row)]))
  const wanted = vectors.get(rows.find(({ isLatest }) => isLatest === 1)?.turn ?? -1)
  if (wanted === undefined) return [...found]
  const score = ({ turn, share }: RelatedTurn): number => share + cosine(wanted, vectors.get(turn))
  return [...compared.sort((a, b) => score(b) - score(a)), ...found.slice(COMPARED)]
}

function meanOf({ dimension, vectors }: ComparedVectors): Float32Array {
  const sum = new Float32Array(vectors.length === 0 ? 0 : dimension)
  for (const { scale, data } of unpackVectors(vectors, dimension)) {
    if (!isScale(scale)) continue
    for (let n = 0; n < dimension; n++) sum[n]! += data[n]! * scale
  }
  return sum
}

function cosine(a: Float32Array, b: Float32Array | undefined): number {
  if (b === undefined || b.length !== a.length) return 0
  let [product, left, right] = [0, 0, 0]
  for (let n = 0; n < a.length; n++) {
    product += a[n]! * b[n]!
    left += a[n]! * a[n]!
    right += b[n]! * b[n]!
  }
  return left === 0 || right === 0 ? 0 : product / Math.sqrt(left * right)
}

function linesOf(db: Database, found: readonly RelatedTurn[]): RelatedLine[] {
  if (found.length === 0) return []
  const names = turnNames(
    db,
    found.map(({ turn }) => turn),
  )
  return found.flatMap(({ turn, clues, prompt, answer }) => {
    const row = names.get(turn)
    if (row === undefined) return []
    return {
      handle: row.handle,
      started: row.started ?? undefined,
      prompt: around(prompt, clues),
      answer: around(answer, clues),
      words: clues.map(({ typed }) => typed),
    }
  })
}

/** The text from its beginning, unless the first of the words is too far into it. */
function around(text: string, clues: readonly Clue[]): string {
  const places = clues.map((clue) => placeOf(clue, text)).filter((place) => place >= 0)
  const first = Math.min(...places)
  if (places.length === 0 || first < SEEN - LEAD) return text
  // Not within a word, and therefore not within a tag's name.
  const from = text.lastIndexOf(" ", first - LEAD) + 1
  return from === 0 ? text : `… ${text.slice(from)}`
}
