/** `get`: turns from the vault, opened where the match is, and read on from there in both directions. */
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { shortLines } from "../../base/pages.ts"
import { count, cut, lengthOf, oneLine } from "../../base/text.ts"
import { type FarEntry, farHandle, farId, openFar } from "../../find/elsewhere.ts"
import { roomOfHits } from "../../find/hit-budget.ts"
import { parseQuery } from "../../find/parse-query.ts"
import { passagesOf } from "../../find/passages.ts"
import { rankedTurns } from "../../find/search-turns.ts"
import { type Sought, soughtBy } from "../../find/snippet.ts"
import { startRenewing } from "../../job/spawn.ts"
import { blockQuote, name } from "../../restore/quote.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { findObservation, isObservationName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { type LabelShown, readLabels } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { messagesOf } from "../../views/queries/messages.ts"
import type { Observation } from "../../views/queries/summaries.ts"
import { type ChangedFiles, filesChangedSince } from "../../views/queries/touched-files.ts"
import { turnId } from "../../views/queries/turns.ts"
import { readTurn, type Turn, type WholeTurn } from "../../views/turn.ts"
import {
  DATA,
  type LineRange,
  lineOfMatch,
  minute,
  outlineOf,
  plain,
  sharedBy,
  sizeOfLines,
  stretchAfter,
  stretchAround,
  stretchBefore,
  type ToldLine,
  toldLabels,
  toldLines,
  wholeTurn,
} from "./hit-passages.ts"
import type { ServerTool, ServerWorld } from "./tool.ts"
import { turnOrSession } from "./tool.ts"

/** UTF-16 units. Claude Code refuses results of more than 25,000 tokens. */
const SIZE = 2400
const LEAST = 500
const MOST = 20_000
/** What each of several turns has at least, when it is opened at a place. */
const EACH = 800
/** What the head of each of several turns takes, and who says its passages. */
const EACH_HEAD = 200
/** What the head and the last lines take. */
const AROUND = 350
/** Of the prompt, where it is only mentioned. */
const ASKED = 160
/** How much of the room the last answer takes beside the match, and beside the outline. */
const LAST = 0.55
const LAST_OF_ALL = 0.5
/** How much its beginning takes beside a match further on in it. */
const OPENING = 0.3

export const getTool: ServerTool = {
  name: "get",
  title: "Open a turn",
  description:
    "Open turns by handle: with the handle as search writes it (ctx:ab12cd@87) at the match, and with `query` where its " +
    "words are (of several turns: the passages for it); else prompt, outline and last answer. @88- reads on from line " +
    "88, @-87 what precedes it.",
  properties: {
    handle: { type: "string", description: "As search and timeline give it; several: separated by spaces" },
    query: { type: "string", description: "What is looked for in them" },
    size: { type: "integer", description: `Characters (${SIZE})`, minimum: LEAST, maximum: MOST },
  },
  required: ["handle"],
  readOnly: true,
  always: true,
  async run(args, world) {
    const handles = handlesIn(args.text("handle") ?? "")
    const query = args.text("query")
    const size = args.number("size") ?? SIZE
    if (handles.some(({ handle }) => farId(handle) !== undefined)) {
      const opened: string[] = []
      for (const place of handles)
        opened.push(await openedAnywhere(world, { place, query, size: shareOf(size, handles) }))
      return { text: opened.join("\n\n") }
    }
    using db = openCurrent(world.dataHome, "command", startRenewing)
    using readers = new CopyReaders()
    const isTurns = !handles.some(({ handle }) => isObservationName(handle))
    if (query !== undefined && handles.length > 1 && isTurns && !handles.some(isReadOn)) {
      return { text: passagesIn(db, world, readers, handles, { query, size }).join("\n\n") }
    }
    const each = shareOf(size, handles)
    const opened = handles.map((place) => openedAt(db, world, readers, { place, query, size: each }))
    return { text: opened.join("\n\n") }
  },
}

const shareOf = (size: number, handles: readonly HandlePlace[]): number =>
  Math.max(Math.min(size, EACH), Math.floor(size / handles.length))

async function openedAnywhere(world: ServerWorld, { place, query, size }: Wanted): Promise<string> {
  const id = farId(place.handle)
  if (id === undefined) {
    using db = openCurrent(world.dataHome, "command", startRenewing)
    using readers = new CopyReaders()
    return openedAt(db, world, readers, { place, query, size })
  }
  const { turn, lines } = await farTurn(world, id)
  const room = Math.max(LEAST / 2, size - AROUND)
  if (isReadOn(place)) return readOn(turn, lines, place, room)
  const sought = query === undefined ? undefined : soughtBy(parseQuery(query).terms)
  const at =
    place.at === undefined ? sought && lineOfMatch(lines, undefined, sought) : lineAt(lines, place.at)
  return at === undefined
    ? readOn(turn, lines, { ...place, from: 1 }, room)
    : atMatch(turn, lines, at, sought, room)
}

/** What is said of a turn above its lines. */
type TurnShown = Pick<WholeTurn, "handle" | "seq" | "session" | "started" | "prompt"> & {
  readonly takenBack?: boolean
  /** Files of the turn that are known to have changed after it. */
  readonly moved?: ChangedFiles | undefined
  readonly label?: LabelShown | undefined
  /** Where it is from, if not from here: words that are safe. */
  readonly from?: string
}

function withGround(
  db: Database,
  { dataHome }: ServerWorld,
  turn: WholeTurn,
): WholeTurn & Pick<TurnShown, "moved" | "label"> {
  const id = turnId(db, turn.handle)
  const label = readLabels(dataHome).ofTurn(turn.handle, turn.session)
  return { ...turn, moved: filesChangedSince(db, [id]).get(id), label }
}

interface Wanted {
  readonly place: HandlePlace
  readonly query: string | undefined
  readonly size: number
}

function openedAt(
  db: Database,
  world: ServerWorld,
  readers: CopyReaders,
  { place, query, size }: Wanted,
): string {
  if (isObservationName(place.handle)) return toldObservation(findObservation(db, place.handle))
  const named = turnNamed(db, place.handle)
  const turn = withGround(db, world, readTurn(db, world.dataHome, named, readers))
  const lines = toldLines(turn)
  const room = Math.max(LEAST / 2, size - AROUND)
  if (isReadOn(place)) return readOn(turn, lines, place, room)
  const whole = { from: 0, to: lines.length }
  if (sizeOfLines(lines, whole) <= room) return shown(turn, lines, whole)
  const sought = query === undefined ? undefined : soughtIn(db, world, readers, named, query)
  const at = sought && wholeTurn(turn, sought.message, sought).lines().at
  if (at !== undefined) return atMatch(turn, lines, at - 1, sought, room)
  if (place.at !== undefined) return atMatch(turn, lines, lineAt(lines, place.at), undefined, room)
  return outlined(turn, lines, room, query === undefined ? [] : [noneOf(query)])
}

const noneOf = (query: string): string => `None of the words of ${JSON.stringify(plain(query, 60))} is in it.`

const isReadOn = ({ from, to }: HandlePlace): boolean => from !== undefined || to !== undefined

/** Of several turns in which the same is sought, what answers it best; the closer its words are, the more. */
function passagesIn(
  db: Database,
  world: ServerWorld,
  readers: CopyReaders,
  places: readonly HandlePlace[],
  { query, size }: { readonly query: string; readonly size: number },
): string[] {
  const opened = places.map(({ handle }) => {
    const named = turnNamed(db, handle)
    const turn = withGround(db, world, readTurn(db, world.dataHome, named, readers))
    const sought = soughtIn(db, world, readers, named, query)
    return { turn, whole: wholeTurn(turn, sought.message, sought) }
  })
  const rooms = roomOfHits(
    opened.map(({ whole }) => ({ score: whole.together, wants: whole.wants })),
    Math.max(0, size - opened.length * EACH_HEAD),
  )
  return opened.map(({ turn, whole }, n) => {
    const { at, of } = whole.lines()
    const said = whole.passages(rooms[n]!).map(({ role, text }) => `${role}:\n${blockQuote(text)}`)
    const place = at === undefined ? count(of, "line") : `line ${at} of ${of}`
    return [head(turn, place), ...(whole.together > 0 ? [] : [noneOf(query)]), ...said].join("\n")
  })
}

function turnNamed(db: Database, handle: string): Turn {
  const found = turnOrSession(db, handle)
  if (found.kind === "turn") return found.turn
  throw usageError("that is a session, not a turn", "timeline lists a session's turns")
}

/** The query's words, and the turn's message that has most of them. */
function soughtIn(
  db: Database,
  { dataHome }: ServerWorld,
  readers: CopyReaders,
  turn: Turn,
  query: string,
): Sought & { readonly message: number | undefined } {
  const { turns, candidates } = rankedTurns(db, dataHome, { query, session: turn.session }, readers)
  const id = turnId(db, turn.handle)
  const best = turns.find((one) => one.turn === id)?.message
  const place = best === undefined ? -1 : messagesOf(db, id).findIndex((one) => one.id === best)
  const terms = candidates.terms.length > 0 ? candidates.terms : parseQuery(query).terms
  return { ...soughtBy(terms), message: place < 0 ? undefined : place }
}

function lineAt(lines: readonly ToldLine[], line: number): number {
  if (line <= lines.length) return line - 1
  throw usageError(`there is no line ${line}`, `the last line is ${lines.length}`)
}

function readOn(
  turn: TurnShown,
  lines: readonly ToldLine[],
  { from, to }: HandlePlace,
  room: number,
): string {
  const stretch =
    from === undefined
      ? stretchBefore(lines, lineAt(lines, to!) + 1, room)
      : stretchAfter(lines, lineAt(lines, from), room)
  return shown(turn, lines, stretch)
}

/** The match with what is around it, what the turn was about, and how the last answer begins or ends. */
function atMatch(
  turn: TurnShown,
  lines: readonly ToldLine[],
  at: number,
  sought: Sought | undefined,
  room: number,
): string {
  const last = lastAnswer(lines)
  const isApart = last !== undefined && at < last.from
  let left = Math.floor(isApart ? room * (1 - LAST) - ASKED : room - ASKED)
  let stretch = stretchAround(lines, at, left)
  // Where an answer is long, its beginning mostly says what the rest of it explains.
  const isFarIn = last !== undefined && !isApart && at < last.to && stretch.from > last.from
  if (isFarIn) {
    left = Math.floor(left * (1 - OPENING))
    stretch = stretchAround(lines, at, left)
  }
  const asked = stretch.from === 0 ? [] : [`Asked: ${JSON.stringify(plain(turn.prompt, ASKED))}`]
  const opening = isFarIn ? openingOf(lines, last.from, stretch.from, room * OPENING) : []
  const isShown = last === undefined || stretch.to >= last.to
  const end = isShown || !isApart ? [] : endOf(last, sought, Math.floor(room * LAST))
  return shown(turn, lines, stretch, { before: [...asked, ...opening], after: end, room: left })
}

/** The lines with which the last answer begins, as far as they are not shown anyway. */
function openingOf(lines: readonly ToldLine[], from: number, end: number, room: number): string[] {
  const { to } = stretchAfter(lines, from, room)
  const own = lines.slice(from, Math.min(to, end)).map(({ text }) => cut(text, Math.floor(room)))
  const gap = to < end ? ["> …"] : []
  return ["", `last answer (line ${from + 1}):`, ...own.filter((text) => text.startsWith(">")), ...gap, ""]
}

/** For a turn of which nothing particular is sought. */
function outlined(
  turn: WholeTurn,
  lines: readonly ToldLine[],
  room: number,
  notes: readonly string[],
): string {
  const last = lastAnswer(lines)
  const end = last === undefined ? [] : endOf(last, undefined, Math.floor(room * LAST_OF_ALL))
  const asked = ["prompt:", blockQuote(cut(turn.prompt, Math.floor(room * 0.2)))]
  const left = room - lengthOf([...end, ...asked])
  return [
    head(turn, `${lines.length} lines`),
    ...notes,
    ...asked,
    "",
    "Outline (open a line with @):",
    ...outlineOf(lines, left),
    ...end,
  ].join("\n")
}

interface LastAnswer extends LineRange {
  readonly text: string
}

function lastAnswer(lines: readonly ToldLine[]): LastAnswer | undefined {
  const end = lines.findLastIndex(({ isAnswer }) => isAnswer)
  if (end < 0) return undefined
  const { message } = lines[end]!
  const from = lines.findIndex((line) => line.message === message && line.isAnswer)
  const own = lines.slice(from, end + 1).filter(({ isAnswer, text }) => isAnswer && text.startsWith(">"))
  return { from, to: end + 1, text: own.map(({ text }) => text.replace(/^> ?/, "")).join("\n") }
}

/** The pieces of the last answer that matter most. */
function endOf({ from, text }: LastAnswer, sought: Sought | undefined, room: number): string[] {
  const part = { text, isProse: true, isFound: sought !== undefined, isLast: true }
  const [pieces] = passagesOf([part], sought ?? soughtBy([]), room)
  return ["", `last answer (line ${from + 1}):`, ...blockQuote(pieces!.text).split("\n")]
}

const head = (turn: TurnShown, place: string): string =>
  `${turn.handle}, turn ${turn.seq} of session ${name(turn.session, 80)}, ${minute(turn.started)}; ${place}.` +
  `${turn.from === undefined ? "" : ` ${turn.from}.`}` +
  `${turn.takenBack ? " The user rewound it." : ""}` +
  `${toldLabels(turn.label)
    .map((label) => ` ${capital(label)}.`)
    .join("")}` +
  `${turn.moved === undefined ? "" : ` Of its files, ${turn.moved.changed} of ${turn.moved.files} changed since.`} ${DATA}`

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

interface Around {
  readonly before?: readonly string[]
  readonly after?: readonly string[]
  /** UTF-16 units of a line, which may be longer than what is shown of the turn. */
  readonly room?: number
}

function shown(
  turn: TurnShown,
  lines: readonly ToldLine[],
  { from, to }: LineRange,
  { before = [], after = [], room = MOST }: Around = {},
): string {
  const first = lines[from]
  const isWhole = from === 0 && to === lines.length
  const stretch = to - from === 1 ? `line ${to}` : `lines ${from + 1} to ${to}`
  const place = isWhole ? "whole" : `${stretch} of ${lines.length}`
  // A stretch that begins within a quotation says whose words these are.
  const title = first?.text.startsWith(">") ? [`${first.title} (continued)`] : []
  const ways = [
    ...(from > 0 ? [`before: get ${turn.handle}@-${from}`] : []),
    ...(to < lines.length ? [`after: get ${turn.handle}@${to + 1}-`] : []),
  ]
  return [
    head(turn, place),
    ...before,
    ...title,
    ...lines.slice(from, to).map(({ text }) => cut(text, room)),
    ...after,
    ...(ways.length > 0 ? ["", `More ${ways.join("; ")}.`] : []),
  ].join("\n")
}

/** A handle with a place in the turn, as `search` and `get` write it. Lines count from 1. */
interface HandlePlace {
  readonly handle: string
  /** `@12`: around this line. */
  readonly at?: number
  /** `@12-`: from this line on. */
  readonly from?: number
  /** `@-12`: up to and including this line. */
  readonly to?: number
}

/** Maximum number of turns that are opened at once. */
const AT_ONCE = 5

/** @throws CtxError for a place that is none, and for too many handles */
function handlesIn(text: string): HandlePlace[] {
  const words = text.split(/[\s,;"'`[\]]+/).filter(Boolean)
  if (words.length > AT_ONCE)
    throw usageError(`${words.length} handles are too many`, `at most ${AT_ONCE} at once`)
  return words.map(placed)
}

function placed(word: string): HandlePlace {
  const at = word.indexOf("@")
  if (at < 0) return { handle: word }
  const handle = word.slice(0, at)
  const place = /^(-?)(\d{1,9})(-?)\W*$/.exec(word.slice(at + 1))
  const line = Number(place?.[2])
  if (place === null || line === 0 || (place[1] && place[3])) {
    throw usageError(
      `${word} names no place`,
      `${handle}@12 is around line 12, @12- from there on, @-12 up to there`,
    )
  }
  if (place[1]) return { handle, to: line }
  return place[3] ? { handle, from: line } : { handle, at: line }
}

/**
 * A turn from elsewhere, as numbered lines.
 *
 * @param id the beginning of the entry's id
 */
async function farTurn(
  world: ServerWorld,
  id: string,
): Promise<{ readonly turn: TurnShown; readonly lines: ToldLine[] }> {
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

const turnOfEntry = ({ id, summary, metadata, by }: FarEntry, target: string): TurnShown => ({
  handle: farHandle(id),
  session: metadata.sessionId,
  seq: metadata.chunkIndex,
  started: metadata.timestamp,
  takenBack: metadata.takenBack,
  prompt: summary,
  from: by === undefined ? `From ${name(metadata.machine ?? target, 80)}` : `This turn is ${sharedBy(by)}`,
})

/** A line of tool output may be a whole file. */
const LONGEST_LINE = 2000

/** All of it is quoted: nothing tells what in it is a title and what somebody said. */
const linesOf = ({ content }: FarEntry): ToldLine[] =>
  blockQuote(content.trimEnd())
    .split("\n")
    .flatMap((line) => shortLines(line, LONGEST_LINE).map((piece, n) => (n === 0 ? piece : `> ${piece}`)))
    .map((text) => ({ text, title: "turn:", message: 0, isAnswer: false }))

/* Observations in the server's answers: below the hits of a search, and opened. Always as a model's words. Pure. */

/** UTF-16 units. */
const TITLE = 120

/** Empty if there are none. */
export function observationLines(found: readonly Observation[]): string[] {
  if (found.length === 0) return []
  return [
    "Besides, a model observed in these sessions (its words; the turns say what was really said):",
    ...found.map(
      ({ handle, type, title, time, turns }) =>
        `${handle} ${minute(time)} ${type}: ${JSON.stringify(plain(title, TITLE))} (from ${turns.map(ownName).join(" ")})`,
    ),
  ]
}

function toldObservation(one: Observation): string {
  const { handle, type, session, model, time, title, narrative, facts, files, turns } = one
  return [
    `${handle}, ${type}, session ${name(session, 80)}, ${minute(time)}; written by a model (${name(model, 60)}), not said in the session. ${DATA}`,
    blockQuote([title, narrative].filter(Boolean).join("\n")),
    ...facts.map((fact) => blockQuote(`- ${oneLine(fact)}`)),
    ...(files.length === 0 ? [] : [blockQuote(`files: ${files.map(oneLine).join(", ")}`)]),
    `From ${turns.map(ownName).join(" ")}: \`get\` opens what was said.`,
  ].join("\n")
}

/** A handle may come from another machine. */
const ownName = (handle: string): string => (/^ctx:[0-9a-z]{1,20}$/.test(handle) ? handle : "?")
