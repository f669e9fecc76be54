/**
 * Turns that the user took back: Esc Esc or `/rewind`, and the conversation goes on from an earlier prompt.
 *
 * The host writes nothing when that happens. What comes next only follows the same line as the prompt whose place it
 * takes, so that one and all turns since are marked then. They stay in the views and are found; what is given back leaves
 * them out.
 */
import type { Part, TranscriptRecord } from "../transcript/types.ts"
import { isCaveat } from "../transcript/user-text.ts"
import type { Database } from "./database.ts"

/**
 * The line that a prompt follows, where another can take its place; undefined for the first of a session, which follows
 * none, and for words within the result of a tool: results of tools called at once may follow the same line.
 */
export const followedBy = (record: TranscriptRecord, parts: readonly Part[]): string | undefined =>
  parts.some(({ kind }) => kind === "toolResult") ? undefined : record.parentUuid

/** Whether a line is one that may take the place of turns; a subagent's has no prompts. */
export const mayReplace = ({ type }: TranscriptRecord, parts: readonly Part[]): boolean =>
  parts.some((part) => {
    // Before a compaction of its own accord, the host may have set a prompt aside that came just then.
    if (part.kind === "boundary") return part.trigger === "manual"
    // Prompts that waited in the queue are handed over as attachments, several behind the same line for all we know.
    if (type !== "user") return false
    return part.kind === "prompt" || (part.kind === "notice" && isCaveat(part.text))
  })

/**
 * Marks the turns whose place a line takes that `mayReplace` them, and sets the session's todos back to what they were
 * before. To be called before the line is stored.
 */
export function takeBack(
  db: Database,
  session: string,
  record: TranscriptRecord,
  parts: readonly Part[],
): void {
  const parent = followedBy(record, parts)
  if (parent === undefined) return
  // Without the plus SQLite would go through all turns of the session in their order.
  const replaced = db
    .query<{ seq: number; todos: string | null }, [string, string]>(
      "SELECT seq, todos FROM turns WHERE session = ? AND parent = ? AND taken_back = 0 ORDER BY +seq LIMIT 1",
    )
    .get(session, parent)
  if (replaced === null) {
    takeBackCopied(db, session, parent)
  } else if (hasEffect(db, session, replaced.seq)) {
    db.query("UPDATE turns SET taken_back = 1 WHERE session = ? AND seq >= ?").run(session, replaced.seq)
    setTodos(db, session, replaced)
  }
}

const setTodos = (db: Database, session: string, { todos }: { todos: string | null }): unknown =>
  db.query("UPDATE sessions SET todos = ? WHERE id = ?").run(todos ?? "[]", session)

/** A fork's prompt in the place of one that it shares with its origin: of what was copied, only the todos are the fork's. */
function takeBackCopied(db: Database, session: string, parent: string): void {
  const replaced = db
    .query<{ todos: string | null }, [string, string]>(
      `SELECT t.todos FROM lineage l JOIN turns t ON t.session = l.parent
       WHERE l.child = ? AND l.kind = 'fork' AND t.parent = ? LIMIT 1`,
    )
    .get(session, parent)
  if (replaced !== null) setTodos(db, session, replaced)
}

/**
 * Whether there is more than commands that only the host carried out: several in a row followed the same line in old
 * versions (seen in 1.0.43: `/doctor`, `/status`, `/mcp`), and a boundary follows the same line as its `/compact`.
 */
function hasEffect(db: Database, session: string, since: number): boolean {
  const row = db
    .query<{ found: number }, [string, number]>(
      `SELECT 1 AS found FROM turns WHERE session = ? AND seq >= ?
         AND NOT (via = 'command' AND tools = 0 AND answer = '') LIMIT 1`,
    )
    .get(session, since)
  return row !== null
}
