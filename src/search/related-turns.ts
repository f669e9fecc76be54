/**
 * Finds turns of other sessions on the subject of a prompt, or none when the match is not obvious. Cheap enough for a
 * hook: few words, bounded lists, and one lookup of the rows that contain most of the words.
 *
 * The thresholds were measured on prompts that have nothing to do with any other session (docs/measurements/restore.md).
 */
import type { Database } from "../archive/database.ts"
import { idsOfProject } from "../archive/queries/projects.ts"
import { spokenTurns, type TurnText } from "../archive/queries/turns.ts"
import { matches } from "../archive/queries/word-matches.ts"
import { mark } from "../archive/word-index.ts"
import { wordSet } from "../util/words.ts"
import { type Clue, cluesOf } from "./clue-words.ts"

export interface RelatedTurn extends TurnText {
  /** The clues that prompt and turn share, most telling first. */
  readonly clues: readonly Clue[]
  /** Weight of those clues, and its share of the weight of all the prompt's clues. */
  readonly evidence: number
  readonly share: number
}

export interface RelatedRequest {
  readonly prompt: string
  readonly project: number
  /** The project's folder. Words of its name occur everywhere in the project. */
  readonly name: string
  /** Sessions to leave out, with their subagents: they have nothing new to tell. */
  readonly except: readonly string[]
  /** Only this session. */
  readonly within?: string
}

export interface Gate {
  readonly least: number
  /** Minimum share of the weight of all the prompt's clues. */
  readonly share: number
  /** A word in more than this share of what was said in the project's other sessions is no clue … */
  readonly common: number
  /** … unless at most this many messages contain it. */
  readonly few: number
}

const GATE: Gate = { least: 3, share: 0.4, common: 0.1, few: 10 }

/** For words given in order to find something: two of them suffice. */
export const FOCUSED: Gate = { ...GATE, least: 2 }

/** The same in the session itself, where much is about the same thing: one word suffices if it is a rare one. */
export const FOCUSED_WITHIN: Gate = { least: 1, share: 0.3, common: 0.2, few: 10 }

/** Maximum number of messages that may contain a clue. A project's messages are only counted as far as this needs. */
const MOST = 60
/** UTF-16 units of a turn's prompt and of its answer in which clues are looked for. */
const READ = 1500
/** Messages whose turns are looked up, those with the most clues first. */
const LOOKED_UP = 40

const quoted = (word: string): string => `"${word}"`

/** Best first, newest first among equals. */
export function relatedTurns(db: Database, request: RelatedRequest, gate: Gate = GATE): RelatedTurn[] {
  const own = wordSet(request.name)
  const clues = cluesOf(request.prompt).filter(({ word }) => !own.has(word))
  const total = weightOf(clues)
  const needed = Math.max(gate.least, gate.share * total)
  if (total < gate.least) return []
  const ids = idsOfProject(db, request.project)
  const marks = ids.map((id) => quoted(mark.said(id))).join(" OR ")
  const said = ids.length > 1 ? `(${marks})` : marks
  const except = request.except.map((session) => quoted(mark.session(session))).join(" OR ")
  const inside = request.within === undefined ? said : `(${said} AND ${quoted(mark.session(request.within))})`
  const filter = except === "" ? inside : `(${inside} NOT (${except}))`
  const having = new Map<number, number>()
  const rare: Clue[] = []
  let hope = total
  for (const clue of clues) {
    const rows = messagesWith(db, clue.word, filter, gate)
    for (const id of rows) having.set(id, (having.get(id) ?? 0) + clue.weight)
    if (rows.length > 0) rare.push(clue)
    else hope -= clue.weight
    if (hope < needed) return []
  }
  const best = [...having]
    .sort(([id, weight], [other, others]) => others - weight || other - id)
    .slice(0, LOOKED_UP)
    .map(([id]) => id)
  if (best.length === 0) return []
  return spokenTurns(db, best)
    .map((turn) => {
      const shared = rare.filter((clue) => placeOf(clue, turn.prompt) >= 0 || placeOf(clue, turn.answer) >= 0)
      const evidence = weightOf(shared)
      return { ...turn, clues: shared, evidence, share: evidence / total }
    })
    .filter(({ evidence }) => evidence >= needed)
    .sort((a, b) => b.evidence - a.evidence || b.turn - a.turn)
}

/** Messages that contain the word and pass the filter; none when there are too many. */
function messagesWith(db: Database, word: string, filter: string, { few, common }: Gate): number[] {
  // Many words of a prompt occur nowhere. Without the filter's long lists, that shows at once.
  if (matches(db, quoted(word), 1).length === 0) return []
  const rows = matches(db, `${quoted(word)} AND ${filter}`, MOST + 1)
  if (rows.length <= few) return rows
  if (rows.length > MOST) return []
  return rows.length <= matches(db, filter, Math.ceil(MOST / common)).length * common ? rows : []
}

const weightOf = (clues: readonly Clue[]): number => clues.reduce((sum, { weight }) => sum + weight, 0)

/** Position of the clue in the text, or -1. */
export function placeOf({ word, typed }: Clue, text: string): number {
  const folded = text.slice(0, READ).toLowerCase()
  const place = folded.indexOf(typed.toLowerCase())
  return place < 0 ? folded.indexOf(word) : place
}
