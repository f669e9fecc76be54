/** Which pieces of a turn's messages are shown, where there is room for several. Pure. */
import {
  beginning,
  ending,
  type Place,
  placesOf,
  quickPlacesOf,
  type Snippet,
  type Sought,
} from "./snippet.ts"

/** A message of the turn. */
export interface Part {
  readonly text: string
  /** Whether it is what a human or the model has said. */
  readonly isProse: boolean
  /** Whether it has words that were sought: what does not need not be read for them letter by letter. */
  readonly isFound: boolean
  /** Whether it is the turn's last answer. */
  readonly isLast: boolean
}

/**
 * Lines, long ones in sentences, short sentences of a line together: up to 150 UTF-16 units, a longer sentence up to 300.
 * All of a text, so that a piece begins where the one before it ends. A pattern, since it is the engine's own code that
 * goes through each letter then.
 */
const PIECES =
  /[^\n]{0,150}(?:[.!?:][*_)"']*\s+|[。！？]\s*|\n\s*|$)|[^\n]{1,300}?(?:[.!?:][*_)"']*\s+|[。！？]\s*|\n\s*|$)|[^\n]{1,299}\s|[^\n]{0,299}[^\n\ud800-\udbff]/g
/** The name of the tool that is called, parted from a long input: alone it says nothing. */
const TOOL = /^[\w-]+:\s*$/
/** UTF-16 units that are read of a longer text, from the stretch of so many with most of the words on. */
const READ = 6000
const READ_OTHER = 2000
const STRETCH = 1500

/** How much a piece says by a word that another piece has shown, and by words of the pieces beside it. */
const AGAIN = 0.4
const BESIDE = 0.2
/** How much the last answer's last pieces count, of all words: what was concluded is seldom in the question's words. */
const CONCLUDES = [0.5, 0.4, 0.3]
/** The same of a text's first piece: it says what the text is about. */
const OPENS = 0.4
/** What is not prose: calls, outputs, thinking, what the host says. */
const OTHER = 0.6
/** A long piece costs room: what it says is divided by the root of its length and so much. */
const COST = 40
/** Less room is not worth a cut piece. */
const LEAST = 60
/** What stands between two pieces. */
const JOINT = 2

interface Piece {
  readonly part: number
  readonly from: number
  readonly to: number
  /** Which of the sought words it has: a bit each. */
  readonly words: number
  /** Their weight. */
  readonly weight: number
  /** What it says beside its words. */
  extra: number
}

/**
 * Pieces of each part, those first that say most of the sought words that none before has said. The first part is shown
 * in any case: it is what was found.
 *
 * @param room UTF-16 units of all pieces together
 */
export function passagesOf(parts: readonly Part[], sought: Sought, room: number): Snippet[] {
  const weights = [...sought.words.values(), ...sought.prefixes.map(() => 1)]
  const places = parts.map(({ text, isFound }) => (isFound ? placesOf : quickPlacesOf)(text, sought))
  let all = 0
  for (let n = 0; n < parts.length; n++) all += parts[n]!.text.length
  if (all <= room) return parts.map(({ text }, n) => joined(text, [{ from: 0, to: text.length }], places[n]!))
  const pieces: Piece[] = []
  for (let n = 0; n < parts.length; n++) addPieces(pieces, parts[n]!, n, places[n]!, weights)
  const shown = chosen(pieces, parts, weights, room)
  return parts.map(({ text }, n) => joined(text, shown[n]!, places[n]!))
}

/** Cuts a text into its pieces, and says what each is worth beside its words. */
function addPieces(
  pieces: Piece[],
  { text, isProse, isLast }: Part,
  part: number,
  places: readonly Place[],
  weights: readonly number[],
): void {
  const read = isProse ? READ : READ_OTHER
  const start = text.length <= read ? 0 : beginning(text, places, STRETCH)
  const first = pieces.length
  let next = 0
  let from = start
  for (const piece of text.slice(start, start + read).match(PIECES) ?? []) {
    const to = from + piece.length
    let words = 0
    while (next < places.length && places[next]!.at < to) {
      const { at, words: found } = places[next++]!
      if (at >= from) words |= found
    }
    let weight = 0
    for (let n = 0; n < weights.length; n++) if ((words >>> n) & 1) weight += weights[n]!
    if (piece.trim() !== "") pieces.push({ part, from, to, words, weight, extra: 0 })
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
  if (end > first) pieces[first]!.extra += OPENS * all
  for (let n = 0; isLast && from === text.length && n < CONCLUDES.length && end - 1 - n >= first; n++)
    pieces[end - 1 - n]!.extra += CONCLUDES[n]! * all
}

/** Of each part the pieces that are shown, in their order. */
function chosen(
  pieces: readonly Piece[],
  parts: readonly Part[],
  weights: readonly number[],
  room: number,
): Span[][] {
  const shown: Span[][] = parts.map(() => [])
  const said = new Set<string>()
  const open = pieces.filter(({ weight, extra }) => weight + extra > 0)
  let seen = 0
  let left = room
  for (let isFirst = true; open.length > 0 && left > JOINT; isFirst = false) {
    let best = -1
    let most = 0
    for (let n = 0; n < open.length; n++) {
      const { part, from, to, words, weight, extra } = open[n]!
      if (isFirst && part > 0) break
      let again = 0
      for (let bits = words & seen, bit = 0; bits !== 0; bits >>>= 1, bit++)
        if (bits & 1) again += weights[bit]!
      const says = (extra + weight - (1 - AGAIN) * again) * (parts[part]!.isProse ? 1 : OTHER)
      const score = says / Math.sqrt(to - from + COST)
      if (score > most) {
        most = score
        best = n
      }
    }
    if (best < 0) {
      if (isFirst) continue
      break
    }
    const [{ part, from, to, words }] = open.splice(best, 1) as [Piece]
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

const isTool = ({ text, isProse }: Part, { from, to }: Span): boolean =>
  !isProse && from === 0 && TOOL.test(text.slice(from, to))

interface Span {
  readonly from: number
  readonly to: number
}

/** The pieces as one text, with an ellipsis where something is left out. */
function joined(text: string, spans: readonly Span[], places: readonly Place[]): Snippet {
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

/** Behind a text what tells whether something is left out before the next. */
function withGap(text: string, gap: string): string {
  if (gap.trim() !== "") return `${text}…`
  return text === "" ? "" : `${text} `
}
