/**
 * What the host keeps of a conversation when it compacts it, and which files it reads again, judged from the session
 * before.
 */
import { isTool } from "../agents/tool-kinds.ts"
import type { Database } from "../archive/database.ts"
import type { Scope } from "./scope.ts"

/** The host reads five files again, ordered by modification time. Which one is the fifth is hard to predict. */
const MOST_FILES = 4
/** How many of the latest turns are searched for them. */
const MOST_TURNS = 20

interface CallRow {
  readonly path: string
}

/**
 * The files that the model last read or changed, newest first. The host shows some of them again, but none of its
 * memory files.
 */
export function filesShownAgain(db: Database, scope: Scope): string[] {
  const turns = db.query<{ id: number }, [string, number, number]>(
    `SELECT id FROM turns WHERE session = ?1 AND id <= ?2 AND (taken_back = 0 OR ?3)
     ORDER BY seq DESC LIMIT ${MOST_TURNS}`,
  )
  const calls = db.query<CallRow, [number]>(
    `SELECT target AS path, max(use) AS latest FROM tool_calls
     WHERE turn = ?1 AND ${isTool("name", "read", "edit", "write")} AND sidechain = 0
       AND is_error = 0 AND origin <> 'import'
     GROUP BY target ORDER BY latest DESC LIMIT ${MOST_FILES}`,
  )
  const found = new Set<string>()
  const own = scope.filter(({ session }) => !session.includes("/"))
  const latest = own
    .flatMap(({ session, upTo, takenBack }) => turns.all(session, upTo, takenBack))
    .sort((a, b) => b.id - a.id)
  for (const { id } of latest.slice(0, MOST_TURNS)) {
    for (const { path } of calls.all(id)) {
      if (/(?:^|\/)CLAUDE(?:\.local)?\.md$/.test(path)) continue
      found.add(path)
      if (found.size >= MOST_FILES) return [...found]
    }
  }
  return [...found]
}

/** How many lines are searched for the last message; one with many calls has as many. */
const MOST_LINES = 12

/** Whether the model's last message in this turn has the turn's answer, perhaps before its calls. */
export function endsWithAnswer(db: Database, handle: string): boolean {
  const lines = db
    .query<{ kind: string }, [string]>(
      `SELECT kind FROM messages
       WHERE turn = (SELECT id FROM turns WHERE handle = ?) AND sidechain = 0 AND kind IN ('answer', 'call', 'result')
       ORDER BY id DESC LIMIT ${MOST_LINES}`,
    )
    .all(handle)
  let isCall = false
  for (const { kind } of lines) {
    if (kind === "answer") return true
    // A result before a call is that of an earlier message, or of another call in the same: there is no telling.
    if (kind === "result" && isCall) return false
    isCall ||= kind === "call"
  }
  return false
}
