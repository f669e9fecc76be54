/** A ranked turn → what is shown of it: its best message, and enough of the turn to know what it was about. */
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { cut, oneLine } from "../util/text.ts"
import type { Candidates, Weighted } from "./candidates.ts"
import type { MessageTexts, Place } from "./message-text.ts"
import type { Ranked } from "./rank.ts"
import { type Snippet, type Sought, snippetOf } from "./snippet.ts"

export interface Hit {
  /** With `ctx:`. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly project: string | null
  /** ISO 8601. */
  readonly time: string | null
  /** Who speaks in the message: human, assistant, tool, host. */
  readonly role: string
  /** The tool that is called or answers. */
  readonly tool: string | null
  readonly score: number
  /** Words of the query that the message has, as they were typed; empty when it was found by its meaning. */
  readonly why: readonly string[]
  readonly snippet: string
  /** Where those words stand in the snippet, in UTF-16 units. */
  readonly marks: Snippet["marks"]
  /** Beginnings of the turn's prompt and of its last answer, unless they are what was found. */
  readonly prompt: string | null
  readonly answer: string | null
}

export interface HitOptions {
  /** How many were asked for: it decides how much room each has. */
  readonly limit: number
  readonly texts: MessageTexts
}

/** UTF-16 units of all hits together, shared among as many as are asked for; the best get half as much again. */
const BUDGET = 4000
const LEAST = 300
const MOST = 1500
const [FIRST, LAST] = [1.2, 0.8]

/** Room of the hit in this place, from 0. */
function roomAt(place: number, limit: number): number {
  const share = limit < 2 ? 1 : FIRST - ((FIRST - LAST) * place) / (limit - 1)
  return Math.min(MOST, Math.max(LEAST, Math.floor((BUDGET / limit) * share)))
}

/** All that is read of a hit. */
export const hitTexts = (hit: Hit): string[] =>
  [
    hit.handle,
    hit.session,
    hit.project,
    hit.time,
    hit.role,
    hit.tool,
    ...hit.why,
    hit.snippet,
    hit.prompt,
    hit.answer,
  ].filter((text) => text !== null)

/** Of the room, what the prompt and the answer may take together. */
const AROUND = 0.4

export function hitsOf(
  db: Database,
  ranked: readonly Ranked[],
  { terms, masks }: Candidates,
  { limit, texts }: HitOptions,
): Hit[] {
  const rows = rowsOf(db, ranked)
  const sought = soughtBy(terms)
  texts.load([...rows.values()].flatMap((row) => (isKept(row) ? [] : (placeOf(row) ?? []))))
  return ranked.flatMap(({ turn, message, score }, place) => {
    const row = rows.get(turn)
    if (row === undefined) return []
    const found = foundIn(row, texts)
    const told = {
      handle: HANDLE_PREFIX + row.handle,
      session: row.session,
      seq: row.seq,
      project: row.project,
      time: row.time ?? row.started,
      role: row.role ?? "human",
      tool: found.tools[0] ?? null,
    }
    const why = message === undefined ? [] : typedIn(terms, masks[message] ?? 0)
    const left = Math.max(0, roomAt(place, limit) - [...Object.values(told), ...why].join("").length)
    return [{ ...told, score: Math.round(score * 1000) / 1000, why, ...shown(row, found.text, sought, left) }]
  })
}

/** The found text first, then what of prompt and answer fits beside it. */
function shown(row: Row, text: string, sought: Sought, room: number) {
  const prompt = row.kind === "prompt" || row.kind === null ? "" : oneLine(row.prompt)
  // What is kept of an answer is cut; its beginning tells which it is.
  const isAnswer = row.answer !== "" && text.startsWith(withoutMark(row.answer.slice(0, 200)))
  const answer = isAnswer ? "" : oneLine(row.answer)
  const around = Math.min(prompt.length + answer.length, Math.floor(room * AROUND))
  const { text: snippet, marks } = snippetOf(text, sought, room - around)
  const left = Math.max(0, room - snippet.length)
  const half = answer === "" ? left : Math.max(Math.floor(left / 2), left - answer.length)
  const shownPrompt = cut(prompt, half)
  const shownAnswer = cut(answer, left - shownPrompt.length)
  return { snippet, marks, prompt: shownPrompt || null, answer: shownAnswer || null }
}

const withoutMark = (text: string): string => (text.endsWith("…") ? text.slice(0, -1) : text)

/** Text and tools of what was found. */
function foundIn(row: Row, texts: MessageTexts) {
  const read = isKept(row) || row.message === null ? undefined : texts.of(row.message)
  return read ?? { text: row.prompt || row.answer, tools: [] }
}

/** Where the message's line stands; undefined when the turn was found as a whole. */
function placeOf({ message: id, copy, offset, length, role, session }: Row): Place | undefined {
  if (id === null || copy === null || offset === null || length === null || role === null) return undefined
  return { id, copy, offset, length, role, session }
}

/** A prompt stands in the views, unless it is very long. */
const isKept = ({ kind, offset, first, prompt }: Row): boolean =>
  kind === "prompt" && offset === first && !prompt.endsWith("…")

interface Row {
  readonly turn: number
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly project: string | null
  readonly started: string | null
  readonly prompt: string
  readonly answer: string
  readonly first: number
  /** Of the message; null when the turn was found as a whole. */
  readonly message: number | null
  readonly role: string | null
  readonly kind: string | null
  readonly time: string | null
  readonly offset: number | null
  readonly length: number | null
  readonly copy: string | null
}

function rowsOf(db: Database, ranked: readonly Ranked[]): Map<number, Row> {
  const rows = db
    .query<Row, [string]>(
      `SELECT t.id AS turn, t.handle, t.session, t.seq, p.path AS project, t.started, t.prompt, t.answer, t.first,
         m.id AS message, m.role, m.kind, m.time, m.offset, m.length, x.copy
       FROM json_each(?) w JOIN turns t ON t.id = w.value ->> 'turn' LEFT JOIN messages m ON m.id = w.value ->> 'message'
       LEFT JOIN transcripts x ON x.id = m.transcript LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project`,
    )
    .all(JSON.stringify(ranked))
  return new Map(rows.map((row) => [row.turn, row]))
}

/** The terms of a mask as they were typed, each once. */
const typedIn = (terms: readonly Weighted[], mask: number): string[] => [
  ...new Set(terms.flatMap(({ typed }, n) => ((mask >>> n) & 1 ? [typed.toLowerCase()] : []))),
]

const soughtBy = (terms: readonly Weighted[]): Sought => ({
  words: new Map(terms.filter(({ isPrefix }) => !isPrefix).map(({ word, weight }) => [word, weight])),
  prefixes: terms.filter(({ isPrefix }) => isPrefix).map(({ word }) => word),
})
