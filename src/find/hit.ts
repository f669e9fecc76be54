/** Builds what is shown of a ranked turn: its best message, and enough of the turn to know what it was about. */

import { cut, oneLine } from "../base/text.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import type { Database } from "../views/database.ts"
import type { LabelShown, Labels } from "../views/labels.ts"
import { idsOfTurn, lastAnswers, type MessagePlace, type RankRow } from "../views/queries/messages.ts"
import { type TakenBack, takenBackOf } from "../views/queries/scope.ts"
import { type ChangedFiles, filesChangedSince } from "../views/queries/touched-files.ts"
import { type FoundRow, foundRows } from "../views/queries/turns.ts"
import type { Candidates, Weighted } from "./candidates.ts"
import { roomOfHits, shareOut } from "./hit-budget.ts"
import type { LinedText, MessageTexts } from "./message-text.ts"
import { passagesOf, type SearchedMessage, type TellingLine, tellingLines } from "./passages.ts"
import type { FoundBy, Ranked } from "./rank.ts"
import { type Snippet, type Sought, snippetOf, soughtBy } from "./snippet.ts"
import { wordToldOf } from "./whole-matches.ts"

export interface Hit extends TakenBack {
  /** With `ctx:`. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  /** Claude Code's uuid of the line that was found, or of the turn's first line when the turn was found as a whole. */
  readonly uuid: string | null
  readonly project: string | null
  /** Name of the agent whose session it is (agents/agent-table.ts), if it is not Claude Code's. */
  readonly program?: string
  /** ISO 8601. */
  readonly time: string | null
  /** Who said it: human, assistant, tool, host. */
  readonly role: string
  /** Set only on what was fetched from where others may have written it. */
  readonly others?: true
  /** The tool that was called or that answered. */
  readonly tool: string | null
  readonly score: number
  /** Not for the newest turns, which an empty query lists, and not for what is outside the index. */
  readonly by?: FoundBy
  /** Words of the query in the message, as they were typed; of many, the rarest. */
  readonly why: readonly string[]
  readonly snippet: string
  /** Where those words are in the snippet, in UTF-16 units. */
  readonly marks: Snippet["marks"]
  /** Excerpts or beginnings of the turn's prompt and last answer; null for the one that was itself found. */
  readonly prompt: string | null
  readonly answer: string | null
  /** Excerpts of other messages in the turn that contain words of the query, if there is room. */
  readonly also: readonly string[]
  /** Set if it is the result of a call that failed. */
  readonly failed?: true
  /** Set only if files of the turn are known to have changed after it. */
  readonly changedSince?: ChangedFiles
  /** Set only if the user has labelled the turn or its session. */
  readonly label?: LabelShown
  /** The vault has lost the copy: there is no more of it than this. */
  readonly isLost?: true
  /** Set if nothing but the prompts of its session is known. */
  readonly promptsOnly?: true
}

interface HitOptions {
  readonly texts: MessageTexts
  readonly labelled: Labels
  /** For each turn, its other messages that contain words of the query, best first. */
  readonly beside: (turns: readonly Ranked[]) => Beside
  /** Whether one excerpt per hit is enough. */
  readonly isBrief: boolean
  /** UTF-16 units for the texts of each hit; if undefined, all hits share what a reader should get at once. */
  readonly room?: number | undefined
  /** What to show of a tool's output where no words are sought. */
  readonly telling?: ((output: string) => string) | undefined
}

/** UTF-16 units for the words that tell why a turn was found. */
const MOST_TYPED = 100
/** UTF-16 units of text that each hit shows, however much room the rest of it takes. */
const LEAST_TEXT = 60
/** A hit with at least this much room, in UTF-16 units, also shows other messages of its turn. */
const ROOM_BESIDE = 600
/** With at least this much room for its texts, a hit shows several passages of each. */
const ROOM_OF_PIECES = 350
/** How the room is shared between the found text, the prompt, the answer, and each other message. */
const SHARES = [3, 2, 2, 2, 2, 2]

/** Every text in a hit that a reader sees. */
export const hitTexts = (hit: Hit): string[] =>
  [
    hit.handle,
    hit.session,
    hit.uuid,
    hit.project,
    hit.time,
    hit.role,
    hit.tool,
    ...hit.why,
    hit.snippet,
    hit.prompt,
    hit.answer,
    ...hit.also,
  ].filter((text) => text !== null)

/** What of a hit is shown where each has a few lines only. */
export interface HitLines {
  /** The file that the call which was found reads, writes or edits. */
  readonly file: string | undefined
  /** Best first. Parts are what was found, the prompt, the last answer, and other messages. */
  readonly lines: readonly TellingLine[]
}

export interface HitsShown {
  readonly hits: Hit[]
  /** @param most lines */
  readonly linesOf: (hit: { readonly handle: string | null }, most: number) => HitLines | undefined
}

type Beside = ReadonlyMap<number, readonly Pick<RankRow, "id" | "kind">[]>

export function hitsOf(
  db: Database,
  ranked: readonly Ranked[],
  { terms, masks }: Candidates,
  { texts, labelled, isBrief, room: ofEach, beside, telling }: HitOptions,
): HitsShown {
  const rows = foundRows(db, ranked)
  const moved = filesChangedSince(db, [...rows.keys()])
  const sought = soughtBy(terms)
  const atLength = isBrief ? [] : withRoom(ranked, rows)
  const others = beside(atLength)
  const answers = lastAnswers(
    db,
    atLength.flatMap(({ turn }) => (rows.get(turn)?.answer.endsWith("…") ? [turn] : [])),
  )
  const ids = [...others.values()].flatMap((some) => some.map(({ id }) => id))
  texts.load(
    [...rows.values()].flatMap((row) => (isKept(row) ? [] : (placeOf(row) ?? []))),
    [...ids, ...answers.values()],
  )
  const found = ranked.flatMap(({ turn, message, score, by }) => {
    const row = rows.get(turn)
    if (row === undefined) return []
    const { text, uuid, tools, lined, isTelling } = foundIn(
      db,
      row,
      texts,
      terms.length === 0 ? telling : undefined,
    )
    // A marker of Claude Code's alone: there is nothing to show.
    if (text.trim() === "" && isSilent(row)) return []
    const told = {
      handle: HANDLE_PREFIX + row.handle,
      session: row.session,
      seq: row.seq,
      uuid: uuid ?? null,
      project: row.project,
      time: row.time ?? row.started,
      role: row.role ?? "human",
      tool: tools[0] ?? null,
    }
    const why = message === undefined ? [] : typedIn(terms, masks[message] ?? 0, text)
    const rounded = Math.round(score * 1000) / 1000
    const taken = [...Object.values(told), rounded, ...why].join("").length
    const answer = answers.get(turn)
    const parts = partsOf(row, text, answer === undefined ? undefined : texts.of(answer)?.text)
    const first = isTelling ? lineOf(text) : undefined
    const asLines = [lined]
    for (const { id, kind } of others.get(turn) ?? []) {
      const other = id === answer ? undefined : texts.of(id)
      if (other === undefined || other.text === parts[ANSWER]!.text) continue
      asLines[parts.length] = other.lined
      parts.push({ text: other.text, isProse: isProse(kind), isFound: true, isLast: false })
    }
    let wants = taken
    for (let n = 0; n < parts.length; n++) wants += parts[n]!.text.length
    return [
      {
        parts,
        told,
        by,
        why,
        score,
        rounded,
        taken,
        wants,
        asLines,
        first,
        marks: marksOf(row, moved.get(turn), texts, labelled.ofTurn(told.handle, row.session)),
      },
    ]
  })
  const rooms = roomOfHits(found)
  const linesOf: HitsShown["linesOf"] = ({ handle }, most) => {
    const one = found.find(({ told }) => told.handle === handle)
    return one && hitLines(one, sought, most)
  }
  const hits = found.map(({ parts, told, by, why, rounded, taken, marks }, n) => {
    const room = ofEach ?? Math.max(LEAST_TEXT, rooms[n]! - taken)
    const [snippet, prompt, answer, ...also] = (!isBrief && room >= ROOM_OF_PIECES ? passagesOf : piecesOf)(
      parts,
      sought,
      room,
    )
    return {
      ...told,
      score: rounded,
      ...(by && { by }),
      why,
      snippet: snippet!.text,
      marks: snippet!.marks,
      prompt: prompt!.text || null,
      answer: answer!.text || null,
      also: also.flatMap(({ text }) => text || []),
      ...marks,
    }
  })
  return { hits, linesOf }
}

interface FoundParts {
  readonly parts: readonly SearchedMessage[]
  /** The texts of those that may be calls, for showing single lines of them. */
  readonly asLines: readonly ((() => LinedText) | undefined)[]
  /** The line that tells what was found, where no words do. */
  readonly first: string | undefined
}

function hitLines({ parts, asLines, first }: FoundParts, sought: Sought, most: number): HitLines {
  const lined = parts.map((part, n) => {
    const text = asLines[n]?.().text ?? part.text
    // What precedes the answer is worth showing for its words, not for how it begins.
    return n === 0 || part.isLast ? { ...part, text } : { ...part, text, isAside: true }
  })
  const lines = tellingLines(lined, sought, most)
  if (first === undefined) return { file: asLines[0]?.().file, lines }
  const told = { text: first, marks: [], part: 0, isProse: false, at: 0, end: first.length }
  return { file: undefined, lines: [told, ...lines.filter(({ part }) => part !== 0)].slice(0, most) }
}

/** UTF-16 units of the line that tells what was found. */
const LINE_SHOWN = 160
/** What Claude Code puts around an error of its own. */
const ERROR_TAG = /<\/?tool_use_error>/g

const lineOf = (text: string): string =>
  cut(oneLine(text.replace(ERROR_TAG, "").trimStart().split("\n", 1)[0]!), LINE_SHOWN)

const marksOf = (
  row: FoundRow,
  changedSince: ChangedFiles | undefined,
  texts: MessageTexts,
  label: LabelShown | undefined,
): Pick<
  Hit,
  "takenBack" | "failed" | "isLost" | "others" | "promptsOnly" | "program" | "changedSince" | "label"
> => ({
  ...takenBackOf(row),
  ...(label && { label }),
  ...(changedSince && { changedSince }),
  ...(row.program === null ? {} : { program: row.program }),
  ...(row.origin === "other" ? { others: true } : {}),
  ...(row.kind === "failure" ? { failed: true } : {}),
  ...(row.promptsOnly === 1 ? { promptsOnly: true } : {}),
  ...(row.copy === null || texts.isThere(row.copy) ? {} : { isLost: true }),
})

/**
 * The first hits, those with room for more than the message that was found. How much text a hit has is estimated from
 * the length of its line and from what the views hold.
 */
function withRoom(ranked: readonly Ranked[], rows: ReadonlyMap<number, FoundRow>): readonly Ranked[] {
  const guesses: { score: number; wants: number }[] = []
  for (const { turn, score } of ranked) {
    const row = rows.get(turn)
    const wants = row === undefined ? 0 : (row.length ?? 0) + row.prompt.length + row.answer.length
    guesses.push({ score, wants })
  }
  const rooms = roomOfHits(guesses)
  const end = rooms.findIndex((room) => room < ROOM_BESIDE)
  return end < 0 ? ranked : ranked.slice(0, end)
}

const ANSWER = 2

/**
 * The found text, the prompt and the last answer; the latter two are empty if they are what was found.
 *
 * @param answer the whole last answer, if known
 */
function partsOf(row: FoundRow, text: string, answer: string | undefined): SearchedMessage[] {
  // The views keep a shortened answer; its beginning identifies it.
  const opening = withoutMark(row.answer.slice(0, 200))
  const isAnswer = opening !== "" && text.startsWith(opening)
  const isPrompt = row.kind === null || isOpening(row)
  return [
    { text, isProse: isProse(row.kind), isFound: true, isLast: isAnswer },
    { text: isPrompt ? "" : row.prompt, isProse: true, isFound: false, isLast: false },
    { text: isAnswer ? "" : (answer ?? row.answer), isProse: true, isFound: false, isLast: true },
  ]
}

/** One excerpt of each text; for the prompt and the answer, their beginnings. */
function piecesOf(
  [text, prompt, answer, ...others]: readonly SearchedMessage[],
  sought: Sought,
  room: number,
): Snippet[] {
  const asked = oneLine(prompt!.text)
  const said = oneLine(answer!.text)
  const wants = [text!.text, asked, said, ...others.map((one) => one.text)].map(({ length }) => length)
  const [ofText, ofPrompt, ofAnswer, ...ofOthers] = shareOut(room, wants, SHARES)
  return [
    snippetOf(text!.text, sought, ofText!),
    { text: cut(asked, ofPrompt!), marks: [] },
    { text: cut(said, ofAnswer!), marks: [] },
    ...others.map((one, n) => snippetOf(one.text, sought, ofOthers[n]!)),
  ]
}

const isProse = (kind: string | null): boolean => kind === null || kind === "prompt" || kind === "answer"

/** Whether what was found is the turn's own prompt, and not an answer that the human gave later in it. */
export const isOpening = ({ kind, offset, first }: FoundRow): boolean => kind === "prompt" && offset === first

const withoutMark = (text: string): string => (text.endsWith("…") ? text.slice(0, -1) : text)

/** Whether the turn has neither a prompt nor an answer. */
const isSilent = ({ prompt, answer }: FoundRow): boolean => prompt === "" && answer === ""

function foundIn(db: Database, row: FoundRow, texts: MessageTexts, telling?: (output: string) => string) {
  const found = isKept(row) || row.message === null ? undefined : texts.of(row.message)
  const isEmpty = found?.text.trim() === "" && isSilent(row)
  const read = isEmpty ? firstText(db, row.turn, texts) : found
  if (read !== undefined && row.role === "tool" && telling !== undefined) {
    const told = telling(read.text)
    const text = told === read.text ? read.lined().text : told
    return { ...read, text, lined: () => ({ text, file: undefined }), isTelling: true }
  }
  if (read !== undefined) return { ...read, isTelling: false }
  const text = row.prompt || row.answer
  return { text, uuid: row.uuid, tools: [], lined: () => ({ text, file: undefined }), isTelling: false }
}

/** The first message of a turn that says anything. */
function firstText(db: Database, turn: number, texts: MessageTexts) {
  for (const id of idsOfTurn(db, turn)) {
    const read = texts.of(id)
    if (read !== undefined && read.text.trim() !== "") return read
  }
  return undefined
}

/** Where the message's line is; undefined when the turn was found as a whole. */
function placeOf({ message: id, copy, offset, length, role, session }: FoundRow): MessagePlace | undefined {
  if (id === null || copy === null || offset === null || length === null || role === null) return undefined
  return { id, copy, offset, length, role, session }
}

/** Whether the views hold the whole text: they do for a prompt, unless it is very long. */
const isKept = (row: FoundRow): boolean => isOpening(row) && row.prompt !== "" && !row.prompt.endsWith("…")

/** The rarest terms in a mask as they were typed, each once; of names that are not there as a whole, only the parts. */
function typedIn(terms: readonly Weighted[], mask: number, text: string): string[] {
  const found = new Set<string>()
  const has = (word: string): boolean => terms.some((one, n) => one.word === word && ((mask >>> n) & 1) === 1)
  let left = MOST_TYPED
  for (let n = 0; n < terms.length; n++) {
    if (((mask >>> n) & 1) === 0) continue
    const typed = cut(wordToldOf(terms[n]!, text, has).toLowerCase(), MOST_TYPED)
    if (found.has(typed)) continue
    if (typed.length > left) break
    left -= typed.length
    found.add(typed)
  }
  return [...found]
}
