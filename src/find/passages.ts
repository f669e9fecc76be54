/** Chooses which pieces of a turn's messages to show when there is room for several. Pure. */
import {
  beginning,
  ending,
  placesIn,
  quickPlacesOf,
  type Snippet,
  type Sought,
  type WordPlace,
} from "./snippet.ts"

export interface SearchedMessage {
  readonly text: string
  /** Whether a human or the model said it. */
  readonly isProse: boolean
  /** Whether it contains sought words. A text that does not need not be read word by word for them. */
  readonly isFound: boolean
  readonly isLast: boolean
  /** Whether it was said on the way to the answer. */
  readonly isAside?: boolean
}

/**
 * Splits a text into lines, long lines into sentences, and joins short sentences of a line: up to 150 UTF-16 units, or
 * 300 for one long sentence. It covers the whole text, so each piece begins where the previous one ends. A regular
 * expression, because the engine's native code then does the scanning.
 */
const PIECES =
  /[^\n]{0,150}(?:[.!?:][*_)"']*\s+|[。！？]\s*|\n\s*|$)|[^\n]{1,300}?(?:[.!?:][*_)"']*\s+|[。！？]\s*|\n\s*|$)|[^\n]{1,299}\s|[^\n]{0,299}[^\n\ud800-\udbff]/g
/** Begins a reason. */
export const REASON =
  /(?<![\p{L}\p{N}_-])(?:because|since|so that|rather than|instead of|otherwise|due to|in order to|weil|denn|damit|sodass|so dass|sonst)(?![\p{L}\p{N}_-])/iu
/** A tool's name split off from a long input; on its own it says nothing. */
const TOOL = /^[\w-]+:\s*$/
/**
 * How many UTF-16 units of a longer text are read (prose, other). Reading starts at the stretch of `STRETCH` units with
 * the most sought words.
 */
const READ = 6000
const READ_OTHER = 2000
const STRETCH = 1500

/** What a word still counts after another piece has shown it, and what words in adjacent pieces add. */
const AGAIN = 0.4
const BESIDE = 0.2
/**
 * Bonus for the last pieces of the last answer, as a share of all words' weight: a conclusion seldom repeats the
 * question's words.
 */
const CONCLUDES = [0.5, 0.4, 0.3]
/**
 * The same for the first piece of a text, which says what the text is about, and for the next ones of the last answer,
 * which often begins with its result.
 */
const OPENS = [0.4, 0.3, 0.2]
/** Factor for what is not prose: calls, outputs, thinking, what Claude Code says. */
const OTHER = 0.6
/** Factor for what was said on the way. Its beginning gets no bonus: it tells what was done next. */
const ASIDE = 0.5
/** UTF-16 units above which a piece of it can stand alone. */
const SHORTEST = 12
/** Long pieces cost room, so a piece's value is divided by the square root of its length plus this. */
const COST = 40
/** With less room than this left, a piece is not cut to fit. */
const LEAST = 60
const JOINT = 2

interface Piece {
  readonly part: number
  readonly from: number
  readonly to: number
  /** Which of the sought words it contains, one bit each. */
  readonly words: number
  readonly weight: number
  /** What it is worth beyond its words. */
  extra: number
}

/**
 * Chooses pieces of each part, preferring those with sought words that no chosen piece has yet. The first part, the one
 * that was found, is always shown.
 *
 * @param room UTF-16 units for all pieces together
 */
export function passagesOf(parts: readonly SearchedMessage[], sought: Sought, room: number): Snippet[] {
  const weights = weightsOf(sought)
  const places = parts.map((part) => placesOf(part, sought))
  let all = 0
  for (let n = 0; n < parts.length; n++) all += parts[n]!.text.length
  if (all <= room) return parts.map(({ text }, n) => joined(text, [{ from: 0, to: text.length }], places[n]!))
  const pieces: Piece[] = []
  for (let n = 0; n < parts.length; n++) addPieces(pieces, parts[n]!, n, places[n]!, weights)
  const shown = chosen(pieces, parts, weights, room)
  return parts.map(({ text }, n) => joined(text, shown[n]!, places[n]!))
}

/** A line of a message, or a sentence of a long one. */
export interface TellingLine extends Snippet {
  /** Of which part, from 0. */
  readonly part: number
  readonly isProse: boolean
  /** Where it is in that part, in UTF-16 units. The next line begins where this one ends. */
  readonly at: number
  readonly end: number
}

/** What the end of the last answer counts in a choice of lines: most have room for words of the query only. */
const LINES_CONCLUDE = [0.1, 0.08, 0.06]
/** The bonus of a line that gives a reason, which is what a decision is looked up for. */
const REASONS = 0.3
/** A line with this share of the words, by weight, tells by them why the turn was found. Such a line comes first. */
const TELLING = 0.25
/** Takes the place of `COST`: of so little room, short lines leave some for others. */
const LINE_COST = 15

/**
 * The lines of the parts that are most likely to answer, best first. Nothing is joined, unlike in passages, and the best
 * line may be of any part; where nothing is sought, it is of the one that was found.
 *
 * @param most of them
 */
export function tellingLines(parts: readonly SearchedMessage[], sought: Sought, most: number): TellingLine[] {
  const weights = weightsOf(sought)
  const places = parts.map((part) => placesOf(part, sought))
  const pieces: Piece[] = []
  for (let n = 0; n < parts.length; n++) addPieces(pieces, parts[n]!, n, places[n]!, weights, LINES_CONCLUDE)
  const all = weights.reduce((sum, weight) => sum + weight, 0) || 1
  for (const piece of pieces) {
    const { text, isProse } = parts[piece.part]!
    if (isProse && REASON.test(text.slice(piece.from, piece.to))) piece.extra += REASONS * all
  }
  const lines: TellingLine[] = []
  const said = new Set<string>()
  const open = pieces.filter((piece) => isTelling(piece, parts[piece.part]!))
  const first =
    weights.length === 0
      ? open.filter(({ part }) => part === 0)
      : open.filter(({ weight }) => weight >= TELLING * all)
  let seen = 0
  while (lines.length < most) {
    const isFirst = lines.length === 0 && first.length > 0
    const best = bestOf(isFirst ? first : open, parts, weights, seen, LINE_COST)
    if (best === undefined) break
    open.splice(open.indexOf(best), 1)
    const { part, from, to, words } = best
    const line = pieceOf(parts[part]!.text, best, places[part]!)
    if (said.has(line.text) || isTool(parts[part]!, best)) continue
    said.add(line.text)
    seen |= words
    lines.push({ ...line, part, isProse: parts[part]!.isProse, at: from, end: to })
  }
  return lines
}

const isTelling = ({ from, to, words, weight, extra }: Piece, { text }: SearchedMessage): boolean =>
  words === 0 ? extra > 0 && !isAnnouncement(text.slice(from, to)) : weight + extra > 0

function pieceOf(text: string, { from, to }: Span, places: readonly WordPlace[]): Snippet {
  const whole = text.slice(from, to).trimEnd().replace(/\s/g, " ")
  const shown = whole.trimStart()
  const shift = whole.length - shown.length + from
  const within = places.filter(({ at, length }) => at >= from && at + length <= to)
  return { text: shown, marks: within.map(({ at, length }) => [at - shift, at + length - shift] as const) }
}

const weightsOf = ({ words, prefixes }: Sought): number[] => [...words.values(), ...prefixes.map(() => 1)]

const placesOf = ({ text, isFound }: SearchedMessage, sought: Sought): WordPlace[] =>
  (isFound ? placesIn : quickPlacesOf)(text, sought)

/** Cuts a text into pieces and rates what each is worth beyond its words. */
function addPieces(
  pieces: Piece[],
  { text, isProse, isLast, isAside }: SearchedMessage,
  part: number,
  places: readonly WordPlace[],
  weights: readonly number[],
  concludes = CONCLUDES,
): void {
  const read = isProse ? READ : READ_OTHER
  const start = text.length <= read ? 0 : beginning(text, places, STRETCH)
  const stop = text.length <= start + read ? text.length : ending(text, start, start + read)
  const first = pieces.length
  let next = 0
  let from = start
  for (const piece of text.slice(start, stop).match(PIECES) ?? []) {
    const to = from + piece.length
    let words = 0
    while (next < places.length && places[next]!.at < to) {
      const { at, words: found } = places[next++]!
      if (at >= from) words |= found
    }
    let weight = 0
    for (let n = 0; n < weights.length; n++) if ((words >>> n) & 1) weight += weights[n]!
    if (piece.trim().length > (isAside ? SHORTEST : 0))
      pieces.push({ part, from, to, words, weight, extra: 0 })
    from = to
  }
  let all = 0
  for (let n = 0; n < weights.length; n++) all += weights[n]!
  all ||= 1
  const end = pieces.length
  for (let n = first; n < end; n++) {
    const before = n > first ? pieces[n - 1]!.weight : 0
    const after = n + 1 < end ? pieces[n + 1]!.weight : 0
    pieces[n]!.extra = BESIDE * Math.max(before, after)
  }
  const opens = isAside ? 0 : isLast ? OPENS.length : 1
  for (let n = 0, at = first; start === 0 && n < opens && at < end; at++) {
    if (at + 1 < end && isAnnouncement(text.slice(pieces[at]!.from, pieces[at]!.to))) continue
    pieces[at]!.extra += OPENS[n++]! * all
  }
  for (let n = 0, at = end - 1; isLast && from === text.length && n < concludes.length && at >= first; at--) {
    // What is asked at the end is an offer rather than a conclusion.
    if (isQuestion(text.slice(pieces[at]!.from, pieces[at]!.to))) continue
    pieces[at]!.extra += concludes[n++]! * all
  }
}

function chosen(
  pieces: readonly Piece[],
  parts: readonly SearchedMessage[],
  weights: readonly number[],
  room: number,
): Span[][] {
  const shown: Span[][] = parts.map(() => [])
  const said = new Set<string>()
  const open = pieces.filter(({ weight, extra }) => weight + extra > 0)
  let seen = 0
  let left = room
  for (let isFirst = true; open.length > 0 && left > JOINT; isFirst = false) {
    // Pieces stand in the order of their parts.
    const ofFound = isFirst ? open.findIndex(({ part }) => part > 0) : -1
    const best = bestOf(ofFound < 0 ? open : open.slice(0, ofFound), parts, weights, seen, COST)
    if (best === undefined) {
      if (isFirst) continue
      break
    }
    open.splice(open.indexOf(best), 1)
    const { part, from, to, words } = best
    const { text } = parts[part]!
    const piece = text.slice(from, to).trim()
    const fits = to - from + JOINT <= left
    if (said.has(piece) || !(fits || left >= LEAST)) continue
    said.add(piece)
    seen |= words
    const end = fits ? to : ending(text, from, from + left - JOINT)
    left -= end - from + JOINT
    shown[part]!.push({ from, to: end })
  }
  for (const spans of shown) spans.sort((a, b) => a.from - b.from)
  return shown.map((spans, part) => (spans.length === 1 && isTool(parts[part]!, spans[0]!) ? [] : spans))
}

/**
 * Which piece says most for the room it takes.
 *
 * @param seen the sought words that were shown, one bit each
 * @param cost as `COST`
 */
function bestOf(
  pieces: readonly Piece[],
  parts: readonly SearchedMessage[],
  weights: readonly number[],
  seen: number,
  cost: number,
): Piece | undefined {
  let best: Piece | undefined
  let most = 0
  for (let n = 0; n < pieces.length; n++) {
    const { part, from, to, words, weight, extra } = pieces[n]!
    let again = 0
    for (let bits = words & seen, bit = 0; bits !== 0; bits >>>= 1, bit++)
      if (bits & 1) again += weights[bit]!
    const says = (extra + weight - (1 - AGAIN) * again) * factorOf(parts[part]!)
    const score = says / Math.sqrt(to - from + cost)
    if (score > most) {
      most = score
      best = pieces[n]!
    }
  }
  return best
}

/** A heading, what ends in a colon, and what has no word: they say that something comes, not what. */
const isAnnouncement = (piece: string): boolean => /^\s*(?:#{1,6} |[^\p{L}\p{N}]*$)|:[*_`)\s]*$/u.test(piece)

const isQuestion = (piece: string): boolean => /[?？][*_)"'\s]*$/.test(piece)

const factorOf = ({ isProse, isAside }: SearchedMessage): number => (!isProse ? OTHER : isAside ? ASIDE : 1)

const isTool = ({ text, isProse }: SearchedMessage, { from, to }: Span): boolean =>
  !isProse && from === 0 && TOOL.test(text.slice(from, to))

interface Span {
  readonly from: number
  readonly to: number
}

/** Joins the pieces, with an ellipsis where something is left out. */
function joined(text: string, spans: readonly Span[], places: readonly WordPlace[]): Snippet {
  const marks: [number, number][] = []
  let out = ""
  let done = 0
  let next = 0
  for (const { from, to } of spans) {
    out = withGap(out, text.slice(done, from))
    const shift = out.length - from
    for (; next < places.length && places[next]!.at < to; next++) {
      const { at, length } = places[next]!
      if (at >= from && at + length <= to) marks.push([at + shift, at + length + shift])
    }
    out += text.slice(from, to).trimEnd().replace(/\s/g, " ")
    done = to
  }
  return { text: out === "" ? "" : withGap(out, text.slice(done)).trimEnd(), marks }
}

/** Appends an ellipsis if something is left out before the next piece, otherwise a space. */
function withGap(text: string, gap: string): string {
  if (gap.trim() !== "") return `${text}…`
  return text === "" ? "" : `${text} `
}
