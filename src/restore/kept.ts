/** What the host keeps of a conversation that it compacts, and what it reads again: as the session stood before. */
import type { Database } from "../archive/database.ts"
import type { Scope } from "./scope.ts"

/** The host reads five files again, by when they were last changed; which is the fifth can hardly be told. */
const MOST_FILES = 4
/** Latest turns in which they are looked for. */
const MOST_TURNS = 20

interface CallRow {
  readonly path: string
}

/**
 * The files that the model read or changed last: the host shows it some of them again, the newest first.
 * Its memory files are none of them.
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

/** Whether the last thing that the model did in the turn with this handle was to answer, not to call a tool. */
export function endsWithAnswer(db: Database, handle: string): boolean {
  const row = db
    .query<{ kind: string }, [string]>(
      `SELECT kind FROM messages WHERE turn = (SELECT id FROM turns WHERE handle = ?) AND sidechain = 0 AND kind IN ('answer', 'call', 'result')
       ORDER BY id DESC LIMIT 1`,
    )
    .get(handle)
  return row?.kind === "answer"
}
