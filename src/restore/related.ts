/**
 * Turns of the project's other sessions on the current subject. Words decide what is related (search/related.ts);
 * vectors made by the background job choose among the results. Nothing here loads a model.
 */
import type { Database } from "../archive/database.ts"
import { isScale, isWholeRow, unpackVectors } from "../archive/vectors.ts"
import { HASHED_ID } from "../embed/hashed-words.ts"
import type { Clue } from "../search/clues.ts"
import { FOCUSED, type Gate, placeOf, type RelatedTurn, relatedTurns } from "../search/related.ts"
import { codeOf } from "../util/errors.ts"
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

interface AboutRow {
  readonly project: number
  readonly path: string
}

/** What turns of other sessions should be about. */
export interface Subject {
  /** The user's own words, given for this purpose; turns about them come first. */
  readonly focus?: string | undefined
  /** What the session is about now. */
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
  try {
    // Searched separately, since a long prompt's words would outweigh the few words of the focus.
    const found = [
      ...relatedTo(db, session, { prompt: focus, gate: FOCUSED }, most),
      ...relatedTo(db, session, { prompt: about, latest }, most),
    ]
    const once = new Map<string, RelatedLine>()
    for (const line of found) if (!once.has(line.handle)) once.set(line.handle, line)
    return [...once.values()]
  } catch (error) {
    if (!codeOf(error).startsWith("SQLITE_")) throw error
    return []
  }
}

interface Asked {
  readonly prompt: string
  readonly latest?: string | undefined
  readonly gate?: Gate
}

function relatedTo(
  db: Database,
  session: string,
  { prompt, latest, gate }: Asked,
  most: number,
): RelatedLine[] {
  if (prompt.trim() === "") return []
  const about = db
    .query<AboutRow, [string]>(
      "SELECT p.id AS project, p.path FROM sessions s JOIN projects p ON p.id = s.project WHERE s.id = ?",
    )
    .get(session)
  if (about === null) return []
  const { project, path } = about
  const found = relatedTurns(db, { prompt, project, name: path, except: kinOf(db, session) }, gate)
  const ordered = latest === undefined ? found : byMeaning(db, latest, found)
  return linesOf(db, ordered.slice(0, most * SPARE))
}

interface Link {
  readonly child: string
  readonly parent: string
  readonly kind: string
}

/**
 * The session itself, all sessions joined to it by fork or resume, since those contain the same lines, and those joined
 * to it by /clear, since it was given theirs when it began.
 */
function kinOf(db: Database, session: string): string[] {
  const links = db
    .query<Link, [string]>(
      "SELECT child, parent, kind FROM lineage WHERE kind = 'fork' OR child = ?1 OR parent = ?1",
    )
    .all(session)
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
  const rows = db
    .query<VectorRow, [string, string, string]>(
      `SELECT o.turn, o.turn = v.turn AS isLatest, o.dimension, o.vectors
       FROM turns t JOIN vectors v ON v.turn = t.id JOIN vectors o ON o.embedder = v.embedder
       WHERE t.handle = ?1 AND v.embedder <> ?2
         AND (o.turn = v.turn OR o.turn IN (SELECT value FROM json_each(?3)))`,
    )
    .all(latest, HASHED_ID, JSON.stringify(compared.map(({ turn }) => turn)))
  const vectors = new Map(rows.filter(isWholeRow).map((row) => [row.turn, meanOf(row)]))
  const wanted = vectors.get(rows.find(({ isLatest }) => isLatest === 1)?.turn ?? -1)
  if (wanted === undefined) return [...found]
  const score = ({ turn, share }: RelatedTurn): number => share + cosine(wanted, vectors.get(turn))
  return [...compared.sort((a, b) => score(b) - score(a)), ...found.slice(COMPARED)]
}

interface VectorRow {
  readonly turn: number
  readonly isLatest: number
  readonly dimension: number
  readonly vectors: Uint8Array
}

function meanOf({ dimension, vectors }: VectorRow): Float32Array {
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

interface LineRow {
  readonly turn: number
  readonly handle: string
  readonly started: string | null
}

function linesOf(db: Database, found: readonly RelatedTurn[]): RelatedLine[] {
  if (found.length === 0) return []
  const rows = db
    .query<LineRow, [string]>(
      "SELECT id AS turn, handle, started FROM turns WHERE id IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(found.map(({ turn }) => turn)))
  const byTurn = new Map(rows.map((row) => [row.turn, row]))
  return found.flatMap(({ turn, clues, prompt, answer }) => {
    const row = byTurn.get(turn)
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
