/** What the archive knows of each turn that tells how much it is worth: its age, its size and its uses. */
import type { Database } from "../archive/database.ts"
import { type AgedRow, agedTurn, agedTurns } from "../archive/queries/turn-ages.ts"
import { confidence } from "./confidence.ts"
import { importance } from "./importance.ts"
import type { Aged } from "./tiers.ts"
import { type Use, usesOf } from "./uses.ts"

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
    usesOf(db, [turn]).get(turn),
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

function knownOf(row: AgedRow, uses: readonly Use[] = []): KnownTurn {
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
    uses: uses.map((use) => use.time),
    isCold: cold === 1,
  }
}
