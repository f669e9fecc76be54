/**
 * Evidence that something which was shown again was then used: not that it was shown. Confidence in a turn rests on it
 * (docs/learning.md).
 */
import type { Database } from "../archive/database.ts"
import { usesNoted } from "../archive/queries/followed-uses.ts"
import { openingCalls, turnsByHandle } from "../archive/queries/opened-handles.ts"
import { isOwnTool } from "../archive/tool-rows.ts"
import { isSlotKind } from "./follow-uses.ts"

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

/**
 * Of given turns, by their rows; without, of all. Oldest first. What was opened by its handle is known at once, all else
 * when the background job has followed the session (note-uses.ts).
 */
export function usesOf(db: Database, turns?: readonly number[]): Map<number, readonly Use[]> {
  const noted = usesNoted(db, turns).flatMap(({ kind, ...use }) =>
    isSlotKind(kind) ? [{ ...use, kind }] : [],
  )
  const wanted = turns && new Set(turns)
  const opened = openedTurns(db).filter(({ turn }) => wanted?.has(turn) !== false)
  const all: Use[] = [...noted, ...opened].sort((a, b) => a.time - b.time)
  return Map.groupBy(all, ({ turn }) => turn)
}

function openedTurns(db: Database): Use[] {
  const opened = openingCalls(db).flatMap(({ target, name, session, time }) => {
    const pattern = isOwnTool(name) ? HANDLE : SHOWN
    const handles = [...target.matchAll(pattern)].map(([, handle]) => handle!)
    return [...new Set(handles)].map((handle) => ({ handle, session, time: Date.parse(time ?? "") || 0 }))
  })
  const rows = turnsByHandle(
    db,
    opened.map(({ handle }) => handle),
  )
  return opened.flatMap(({ handle, session, time }) => {
    const turn = rows.get(handle)
    return turn === undefined ? [] : [{ turn, time, kind: "handle", session }]
  })
}
