/**
 * Evidence that something which was shown again was then used: not that it was shown. Confidence in a turn rests on it
 * (docs/learning.md).
 */
import type { Database } from "../archive/database.ts"
import { openingCalls, turnsByHandle } from "../archive/queries/opened-handles.ts"
import { isOwnTool } from "../archive/tool-rows.ts"

/** Evidence that something of a turn which was shown again was then used. */
export interface Use {
  /** Row of the turn that it came from. */
  readonly turn: number
  /** ms since the epoch. */
  readonly time: number
  readonly kind: "path" | "command" | "name" | "handle"
  /** Where it was used. */
  readonly session: string
}

const HANDLE = /\bctx:([0-9a-z]{4,})/g
/** In a shell, only what our own `show` opens. */
const SHOWN = /\bctxbridge\b['"]?\s+show\s+["']?ctx:([0-9a-z]{4,})/g

/** Of given turns, by their rows; without, of all. Oldest first. */
export function usesOf(db: Database, turns?: readonly number[]): Map<number, readonly Use[]> {
  const opened = openingCalls(db).flatMap(({ target, name, session, time }) => {
    const pattern = isOwnTool(name) ? HANDLE : SHOWN
    const handles = [...target.matchAll(pattern)].map(([, handle]) => handle!)
    return [...new Set(handles)].map((handle) => ({ handle, session, time: Date.parse(time ?? "") || 0 }))
  })
  const rows = turnsByHandle(
    db,
    opened.map(({ handle }) => handle),
  )
  const wanted = turns && new Set(turns)
  const found = new Map<number, Use[]>()
  for (const { handle, session, time } of opened) {
    const turn = rows.get(handle)
    if (turn === undefined || wanted?.has(turn) === false) continue
    found.set(turn, [...(found.get(turn) ?? []), { turn, time, kind: "handle", session }])
  }
  return found
}
