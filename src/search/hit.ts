/** A ranked turn → what is shown of it: its best message, and enough of the turn to know what it was about. */
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { cut, oneLine } from "../util/text.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Candidates, Weighted } from "./candidates.ts"
import { messageText } from "./message-text.ts"
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

interface TurnPlace {
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly project: string | null
  readonly started: string | null
  readonly prompt: string
  readonly answer: string
}

export interface HitOptions {
  /** UTF-16 units of all its texts. */
  readonly room: number
  readonly readers: CopyReaders
}

/** UTF-16 units of all hits together, shared among as many as are asked for. */
const BUDGET = 4000
const LEAST = 300
const MOST = 1500

/** Room of each of so many hits. */
export const roomFor = (limit: number): number => Math.min(MOST, Math.max(LEAST, Math.floor(BUDGET / limit)))

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

export function hitOf(
  db: Database,
  dataHome: string,
  { turn, message, score }: Ranked,
  { terms, masks }: Candidates,
  { room, readers }: HitOptions,
): Hit {
  const place = turnPlace(db, turn)
  const row = message === undefined ? undefined : messageRow(db, message)
  const found = message === undefined ? undefined : messageText(db, dataHome, message, readers)
  const text = found?.text ?? (place.prompt || place.answer)
  const sought = soughtBy(terms)
  const told = {
    handle: HANDLE_PREFIX + place.handle,
    session: place.session,
    seq: place.seq,
    project: place.project,
    time: row?.time ?? place.started,
    role: row?.role ?? "human",
    tool: found?.tools[0] ?? null,
  }
  const why = message === undefined ? [] : typedIn(terms, masks[message] ?? 0)
  const rest = Math.max(0, room - [...Object.values(told), ...why].join("").length)
  const prompt = row?.kind === "prompt" || found === undefined ? "" : oneLine(place.prompt)
  const answer = oneLine(place.answer)
  const isAnswer = text.startsWith(place.answer.replace(/…$/, "").slice(0, 200)) && place.answer !== ""
  const around = [prompt, isAnswer ? "" : answer]
  const spared = around.reduce((sum, one) => sum + one.length, 0)
  const forText = Math.max(
    rest - Math.min(spared, Math.floor(rest * AROUND)),
    Math.floor(rest * (1 - AROUND)),
  )
  const { text: snippet, marks } = snippetOf(text, sought, forText)
  let left = Math.max(0, rest - snippet.length)
  const both = around.every((one) => one !== "")
  const shownPrompt = cut(prompt, both ? Math.max(Math.floor(left / 2), left - answer.length) : left)
  left -= shownPrompt.length
  const shownAnswer = isAnswer ? "" : cut(answer, left)
  return {
    ...told,
    score: Math.round(score * 1000) / 1000,
    why,
    snippet,
    marks,
    prompt: shownPrompt || null,
    answer: shownAnswer || null,
  }
}

/** The terms of a mask as they were typed, each once. */
const typedIn = (terms: readonly Weighted[], mask: number): string[] => [
  ...new Set(terms.flatMap(({ typed }, n) => ((mask >>> n) & 1 ? [typed.toLowerCase()] : []))),
]

const soughtBy = (terms: readonly Weighted[]): Sought => ({
  words: new Map(terms.filter(({ isPrefix }) => !isPrefix).map(({ word, weight }) => [word, weight])),
  prefixes: terms.filter(({ isPrefix }) => isPrefix).map(({ word }) => word),
})

function turnPlace(db: Database, turn: number): TurnPlace {
  return db
    .query<TurnPlace, [number]>(
      `SELECT t.handle, t.session, t.seq, p.path AS project, t.started, t.prompt, t.answer
       FROM turns t LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project WHERE t.id = ?`,
    )
    .get(turn)!
}

const messageRow = (db: Database, id: number) =>
  db
    .query<{ role: string; kind: string; time: string | null }, [number]>(
      "SELECT role, kind, time FROM messages WHERE id = ?",
    )
    .get(id) ?? undefined
