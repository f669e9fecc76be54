/** What is shown of a turn beside a list of hits: what was asked, the message that was found, the last answer. */

import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { lastAnswers } from "../views/queries/messages.ts"
import { foundRows, turnId } from "../views/queries/turns.ts"
import type { Weighted } from "./candidates.ts"
import { type Hit, isOpening } from "./hit.ts"
import { MessageTexts } from "./message-text.ts"
import type { Ranked } from "./rank.ts"
import { beginning, ending, placesIn, type Snippet, type Sought, soughtBy } from "./snippet.ts"

export interface TurnPreview {
  readonly started: string | null
  /** Long texts are cut; line breaks are kept. */
  readonly prompt: Snippet
  /** The message that was found; undefined if it is the prompt or the answer. */
  readonly found: Snippet | undefined
  readonly answer: Snippet
}

/** UTF-16 units of each text: some screens. */
const MOST = 6000
/** The stretch, in UTF-16 units, that has the most of the sought words. */
const STRETCH = 1500
/** Bytes of a line that is not read again only to show more of it. */
const LONGEST_LINE = 2 << 20

/**
 * @param hit as the search gave it, brief or not
 * @param ranked all turns that the search found
 */
export function previewTurn(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  hit: Hit,
  { ranked, terms }: { readonly ranked: readonly Ranked[]; readonly terms: readonly Weighted[] },
): TurnPreview | undefined {
  const turn = turnId(db, hit.handle)
  const message = ranked.find((one) => one.turn === turn)?.message
  const row = foundRows(db, [{ turn, message }]).get(turn)
  if (row === undefined) return undefined
  const texts = new MessageTexts(db, dataHome, readers)
  const sought = soughtBy(terms)
  const last = lastAnswers(db, [turn]).get(turn)
  const textOf = (id: number | undefined): string | undefined =>
    id === undefined ? undefined : texts.of(id)?.text
  const answer = (row.answer.endsWith("…") ? textOf(last) : undefined) ?? row.answer
  const isShort = (row.length ?? 0) <= LONGEST_LINE
  const isOther = message !== undefined && message !== last && !isOpening(row)
  return {
    started: row.started,
    prompt: stretchOf(row.prompt, sought),
    found: !isOther
      ? undefined
      : isShort
        ? stretchOf(textOf(message) ?? hit.snippet, sought)
        : { text: hit.snippet, marks: hit.marks },
    answer: stretchOf(answer, sought),
  }
}

/** The text, or of a long one the part with the most of the sought words. */
function stretchOf(text: string, sought: Sought): Snippet {
  const places = placesIn(text, sought)
  const from = text.length <= MOST ? 0 : beginning(text, places, STRETCH)
  const end = text.length <= from + MOST ? text.length : ending(text, from, from + MOST)
  const head = from > 0 ? "…" : ""
  const shift = head.length - from
  return {
    text: head + text.slice(from, end) + (end < text.length ? "…" : ""),
    marks: places
      .filter(({ at, length }) => at >= from && at + length <= end)
      .map(({ at, length }) => [at + shift, at + length + shift] as const),
  }
}
