/**
 * Which turns were used: those that the model opened by their handles. It is the only evidence that counts
 * (docs/learning.md), and the views have all of it. With it, how much a turn is worth.
 */
import type { Database } from "../../views/database.ts"
import { openingCalls, turnsByHandle } from "../../views/queries/fact-uses.ts"
import { type AgedRow, agedTurn, agedTurns } from "../../views/queries/turns.ts"
import { isOwnTool } from "../../views/tool-rows.ts"
import { type Aged, confidence, importance } from "./tiers.ts"

export interface KnownTurn extends Aged {
  readonly isCold: boolean
}

/** All turns of the archive. */
export function knownTurns(db: Database): KnownTurn[] {
  const uses = usesOf(db)
  return agedTurns(db).map((row) => knownOf(row, uses.get(row.turn)))
}

/** How much a turn is worth now. */
export interface Worth {
  /** Null when nobody knows when it ended. */
  readonly confidence: number | null
  readonly importance: number | null
  readonly uses: number
  readonly cold: boolean
}

/** @param turn its row; @throws when there is none */
export function worthOf(db: Database, turn: number, now: number): Worth {
  const { born, uses, isCold, hasTools, hasFiles, hasSummary } = knownOf(
    agedTurn(db, turn)!,
    usesOf(db).get(turn),
  )
  if (born === undefined) return { confidence: null, importance: null, uses: uses.length, cold: isCold }
  return {
    confidence: rounded(confidence(born, uses, now, hasSummary)),
    importance: rounded(importance({ born, uses: uses.length, hasTools, hasFiles }, now)),
    uses: uses.length,
    cold: isCold,
  }
}

const rounded = (value: number): number => Math.round(value * 10_000) / 10_000

function knownOf(row: AgedRow, uses: readonly number[] = []): KnownTurn {
  const { turn, handle, ended, bytes, tools, files, cold, isNote, hasSummary } = row
  const time = Date.parse(ended ?? "")
  return {
    turn,
    handle,
    born: Number.isNaN(time) ? undefined : time,
    isNote: isNote === 1,
    hasSummary: hasSummary === 1,
    bytes,
    hasTools: tools > 0,
    hasFiles: files === 1,
    uses,
    isCold: cold === 1,
  }
}

const HANDLE = /\bctx:([0-9a-z]{4,})/g
/** In a shell, only what our own `show` opens. */
const SHOWN = /\bctxbridge\b['"]?\s+show\s+["']?ctx:([0-9a-z]{4,})/g

/** When turns were opened, in ms since the epoch, oldest first: by their rows. */
export function usesOf(db: Database): Map<number, readonly number[]> {
  const opened = openingCalls(db).flatMap(({ target, name, time }) => {
    const pattern = isOwnTool(name) ? HANDLE : SHOWN
    const handles = [...target.matchAll(pattern)].map(([, handle]) => handle!)
    return [...new Set(handles)].map((handle) => ({ handle, time: Date.parse(time ?? "") || 0 }))
  })
  const rows = turnsByHandle(
    db,
    opened.map(({ handle }) => handle),
  )
  const uses = new Map<number, number[]>()
  for (const { handle, time } of opened.sort((a, b) => a.time - b.time)) {
    const turn = rows.get(handle)
    if (turn !== undefined) uses.set(turn, [...(uses.get(turn) ?? []), time])
  }
  return uses
}
