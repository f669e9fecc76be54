/**
 * What the model said during its turns. When a session has so few turns that their lines say next to nothing, as with
 * one prompt and hundreds of tool calls, these lines are added.
 */

import type { Database } from "../archive/database.ts"
import { answersOnTheWay } from "../archive/queries/messages.ts"
import type { TurnLine } from "../archive/queries/turns.ts"
import { answerText } from "../claude/line-texts.ts"
import { type ArchivedLines, LONGEST_LINE } from "./archived-line.ts"
import { LEAST_TURNS, type Quote } from "./material.ts"

/** More than there is room for, since the new context may already contain some. */
const SPARE = 3
/** The longest of this many latest answers are chosen: reports rather than "let me look". */
const LATEST = 40
/** Minimum UTF-16 units of a text that says something. */
const SHORTEST = 40
const SHOWN = 4000

/**
 * Newest first, without the last answer of each turn, which its own line shows. Read from the vault, where secrets are
 * filtered; what is missing or damaged is left out.
 *
 * @param turns newest first
 */
export function stepsOf(db: Database, turns: readonly TurnLine[], lines: ArchivedLines): Quote[] {
  if (turns.length === 0 || turns.length >= LEAST_TURNS) return []
  const handles = turns.map(({ handle }) => handle)
  const chosen = answersOnTheWay(db, handles, LONGEST_LINE, LATEST)
    .sort((a, b) => b.length - a.length)
    .slice(0, LEAST_TURNS - turns.length + SPARE)
    .sort((a, b) => b.id - a.id)
  return chosen.flatMap((place) => {
    const text = answerText(lines.at(place))
    return text.length < SHORTEST ? [] : { text: text.slice(0, SHOWN), handle: place.handle }
  })
}
