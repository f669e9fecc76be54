/** What is shown of a hit: passages from the whole turn, and where in it the match is. */
import type { Database } from "../archive/database.ts"
import { messagesOf } from "../archive/queries/messages.ts"
import { turnId } from "../archive/queries/turns.ts"
import { openTurn, type TurnMessage } from "../read/turn.ts"
import type { Hit } from "../search/hit.ts"
import { passagesOf, type SearchedMessage } from "../search/passages.ts"
import type { FoundTurns } from "../search/search-turns.ts"
import { soughtBy } from "../search/snippet.ts"
import { searchable } from "../transcript/searchable.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { lineOfMatch, type ToldLine, toldLines } from "./told-turn.ts"

interface Passage {
  /** human, assistant, tool or host. */
  readonly role: string
  readonly text: string
}

export interface WholeHit {
  readonly lines: readonly ToldLine[]
  /** The line of the match, from 0. */
  readonly line: number | undefined
  /** UTF-16 units of all that could be shown. */
  readonly wants: number
  passages(room: number): Passage[]
}

/** Bytes of a turn that is read for a hit: more would take longer than a second. */
const LARGEST = 16 << 20

/** @returns undefined for a turn that is too large, or that the archive no longer holds */
export function wholeHit(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  { ranked, terms }: FoundTurns,
  { handle }: Hit,
): WholeHit | undefined {
  const id = turnId(db, handle)
  const rows = messagesOf(db, id)
  if (rows.reduce((sum, { length }) => sum + length, 0) > LARGEST) return undefined
  const turn = openTurn(db, dataHome, handle, readers)
  if (turn === undefined) return undefined
  const best = ranked.find((one) => one.turn === id)?.message
  const at = best === undefined ? -1 : rows.findIndex((one) => one.id === best)
  const sought = soughtBy(terms)
  const lines = toldLines(turn)
  const parts = partsOf(turn.messages, at)
  return {
    lines,
    line: lineOfMatch(lines, at < 0 ? undefined : at, sought),
    wants: parts.reduce((sum, { text }) => sum + text.length, 0),
    passages(room) {
      const shown = passagesOf(parts, sought, room)
      const told = parts.map(({ role, place }, n) => ({ role, place, text: shown[n]!.text }))
      return told.filter(({ text }) => text !== "").sort((a, b) => a.place - b.place)
    },
  }
}

type TurnPart = SearchedMessage & { readonly role: string; readonly place: number }

/** The message that was found, and all that human and model said to each other. */
function partsOf(messages: readonly TurnMessage[], found: number): TurnPart[] {
  const parts = messages.map((message, place): TurnPart => {
    const { kind, text } = searchable(message.parts, message.role === "host")
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
