/** What is shown of a hit: passages from the whole turn, and where in it the words of the query are together. */
import type { Database } from "../archive/database.ts"
import { messagesOf } from "../archive/queries/messages.ts"
import { turnId } from "../archive/queries/turns.ts"
import { openTurn, type TurnMessage, type WholeTurn } from "../read/turn.ts"
import type { Hit } from "../search/hit.ts"
import { passagesOf, type SearchedMessage } from "../search/passages.ts"
import type { FoundTurns } from "../search/search-turns.ts"
import { densest, placesIn, type Sought, soughtBy } from "../search/snippet.ts"
import { searchable } from "../transcript/searchable.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { lineOfMatch, toldLines } from "./told-turn.ts"

interface Passage {
  /** human, assistant, tool or host. */
  readonly role: string
  readonly text: string
}

export interface WholeHit {
  /** Which share of the query's words, by weight, is together in one place: 0 to 1. */
  readonly together: number
  /** UTF-16 units of all that could be shown. */
  readonly wants: number
  /** The line of that place, from 1, if the turn has any of the words; and how many lines the turn has. */
  lines(): { readonly at: number | undefined; readonly of: number }
  passages(room: number): Passage[]
}

/** UTF-16 units of a place: two or three sentences. */
const PLACE = 300
/** Factor for what is not prose, as for passages: calls and outputs have many words together that answer nothing. */
const OTHER = 0.5

interface Opening {
  /** Bytes of the turn. */
  readonly most: number
  /** Whether any place of the turn may be shown, not only the message that was found. */
  readonly isFree: boolean
}

/**
 * @returns undefined for a turn that is larger, or that the archive no longer holds
 */
export function wholeHit(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  { ranked, terms }: FoundTurns,
  { handle }: Hit,
  { most, isFree }: Opening,
): (WholeHit & { readonly bytes: number }) | undefined {
  const id = turnId(db, handle)
  const rows = messagesOf(db, id)
  const bytes = rows.reduce((sum, { length }) => sum + length, 0)
  if (bytes > most) return undefined
  const turn = openTurn(db, dataHome, handle, readers)
  if (turn === undefined) return undefined
  const found = ranked.find((one) => one.turn === id)?.message
  const at = found === undefined ? -1 : rows.findIndex((one) => one.id === found)
  return { ...wholeTurn(turn, at < 0 ? undefined : at, soughtBy(terms), isFree), bytes }
}

/**
 * @param found which of its messages was found, from 0
 * @param isFree as in `Opening`
 */
export function wholeTurn(
  turn: WholeTurn,
  found: number | undefined,
  sought: Sought,
  isFree = true,
): WholeHit {
  const all = partsOf(turn.messages, found ?? -1)
  const { best, together } = bestPlace(isFree ? all : all.filter(({ place }) => place === found), sought)
  const parts = partsOf(turn.messages, best?.place ?? found ?? -1)
  return {
    together,
    wants: parts.reduce((sum, { text }) => sum + text.length, 0),
    lines() {
      const lines = toldLines(turn)
      const line = lineOfMatch(lines, best?.place ?? found, sought)
      return { at: line === undefined ? undefined : line + 1, of: lines.length }
    },
    passages(room) {
      const shown = passagesOf(parts, sought, room)
      const told = parts.map(({ role, place }, n) => ({ role, place, text: shown[n]!.text }))
      return told.filter(({ text }) => text !== "").sort((a, b) => a.place - b.place)
    },
  }
}

/** Where most of the words are together, by weight; undefined if the turn has none of them. */
function bestPlace(
  parts: readonly TurnPart[],
  sought: Sought,
): { best: TurnPart | undefined; together: number } {
  let best: TurnPart | undefined
  let most = 0
  for (const part of parts) {
    const { weight } = densest(placesIn(part.text, sought), PLACE)
    const counted = part.isProse ? weight : OTHER * weight
    if (counted > most) {
      most = counted
      best = part
    }
  }
  const all = [...sought.words.values()].reduce((sum, weight) => sum + weight, sought.prefixes.length)
  return { best, together: all > 0 ? Math.min(1, most / all) : 0 }
}

type TurnPart = SearchedMessage & { readonly role: string; readonly place: number }

/** The message that was found, and all that human and model said to each other. */
function partsOf(messages: readonly TurnMessage[], found: number): TurnPart[] {
  const parts = messages.map((message, place): TurnPart => {
    const { kind, text } = searchable(message.parts, message.role)
    const isProse = kind === "prompt" || kind === "answer"
    return { text, isProse, isFound: true, isLast: false, role: isProse ? message.role : kind, place }
  })
  const last = parts.findLastIndex(({ role }, n) => role === "assistant" && !messages[n]!.sidechain)
  const first = parts.findIndex(({ role }) => role === "human")
  const own = parts.flatMap((part, n) => {
    const isFound = n === found
    const isSaid = part.isProse && !messages[n]!.sidechain
    if (part.text === "" || !(isFound || isSaid)) return []
    return [{ ...part, isLast: n === last, isAside: !isFound && n !== last && n !== first }]
  })
  const at = own.findIndex(({ place }) => place === (found < 0 ? first : found))
  return at < 0 ? own : [own[at]!, ...own.slice(0, at), ...own.slice(at + 1)]
}
