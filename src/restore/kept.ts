/**
 * What the host keeps of a conversation when it compacts it, and which files it reads again, judged from the session
 * before.
 */
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
     WHERE turn = ?1 AND name IN ('Read', 'Edit', 'Write', 'MultiEdit', 'NotebookEdit') AND sidechain = 0
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

/** The model's last message in a turn, as far as the views tell. */
export interface LastMessage {
  /** Whether it contains the turn's answer. */
  readonly isAnswer: boolean
  /** What its tool calls were about: commands, paths. */
  readonly targets: readonly string[]
}

/** How many lines are searched for it; one with many calls has as many. */
const MOST_LINES = 12

/** Newer hosts keep it when they compact. */
export function lastMessage(db: Database, handle: string): LastMessage {
  const lines = db
    .query<{ id: number; kind: string }, [string]>(
      `SELECT id, kind FROM messages
       WHERE turn = (SELECT id FROM turns WHERE handle = ?) AND sidechain = 0 AND kind IN ('answer', 'call', 'result')
       ORDER BY id DESC LIMIT ${MOST_LINES}`,
    )
    .all(handle)
  const calls: number[] = []
  for (const { id, kind } of lines) {
    if (kind === "answer") return { isAnswer: true, targets: targetsOf(db, calls) }
    if (kind === "call") calls.push(id)
    // A result before a call is that of an earlier message, or of another call in the same: there is no telling.
    else if (calls.length > 0) break
  }
  return { isAnswer: false, targets: targetsOf(db, calls) }
}

const targetsOf = (db: Database, calls: readonly number[]): string[] =>
  db
    .query<{ target: string }, [string]>(
      `SELECT c.target FROM json_each(?) u JOIN messages m ON m.id = u.value
         JOIN tool_calls c ON c.turn = m.turn AND c.use = m.id`,
    )
    .all(JSON.stringify(calls))
    .map(({ target }) => target)
