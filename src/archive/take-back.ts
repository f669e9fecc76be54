/**
 * Turns that the user took back: after Esc Esc or `/rewind`, the conversation continues from an earlier prompt.
 *
 * The host writes nothing when that happens. But what comes next follows the same line as the prompt whose place it
 * takes. Only then are that prompt's turn and all turns since marked. They stay in the views and can be found, but
 * restores leave them out.
 */
import { isCaveat } from "../agents/claude-code/user-text.ts"
import type { Part, TranscriptRecord } from "../transcript/types.ts"
import type { Database } from "./database.ts"

/**
 * The line that a prompt follows, so that another can take its place. undefined for the first of a session, which
 * follows no line, and for words within a tool's result, because results of parallel calls may follow the same line.
 */
export const followedBy = (record: TranscriptRecord, parts: readonly Part[]): string | undefined =>
  parts.some(({ kind }) => kind === "toolResult") ? undefined : record.parentUuid

/** Whether a line may take the place of turns. A subagent's never does, as it has no prompts. */
export const mayReplace = ({ type }: TranscriptRecord, parts: readonly Part[]): boolean =>
  parts.some((part) => {
    // Before an automatic compaction, the host may have set aside a prompt that came just then.
    if (part.kind === "boundary") return part.trigger === "manual"
    // Queued prompts arrive as attachments, and several of them may well follow the same line.
    if (type !== "user") return false
    return part.kind === "prompt" || (part.kind === "notice" && isCaveat(part.text))
  })

/**
 * Marks the turns whose place a line takes, and resets the session's todos to what they were before them. Call for
 * lines that `mayReplace` turns, before they are stored.
 *
 * @param mirror id of the line's transcript if another machine archived it: a session that was continued on both has two
 * turns that follow the same line, and nobody took either back
 */
export function takeBack(
  db: Database,
  session: string,
  record: TranscriptRecord,
  parts: readonly Part[],
  mirror: number | undefined,
): void {
  const parent = followedBy(record, parts)
  if (parent === undefined) return
  // Without the plus, SQLite would go through all turns of the session in order.
  const replaced = db
    .query<{ seq: number; todos: string | null }, [string, string, number | null]>(
      `SELECT seq, todos FROM turns WHERE session = ? AND parent = ? AND taken_back = 0
         AND transcript = coalesce(?, transcript) ORDER BY +seq LIMIT 1`,
    )
    .get(session, parent, mirror ?? null)
  if (replaced === null) {
    takeBackCopied(db, session, parent)
  } else if (hasEffect(db, session, replaced.seq)) {
    db.query(
      "UPDATE turns SET taken_back = 1 WHERE session = ? AND seq >= ? AND transcript = coalesce(?, transcript)",
    ).run(session, replaced.seq, mirror ?? null)
    setTodos(db, session, replaced)
  }
}

const setTodos = (db: Database, session: string, { todos }: { todos: string | null }): unknown =>
  db.query("UPDATE sessions SET todos = ? WHERE id = ?").run(todos ?? "[]", session)

/** For a fork's prompt that replaces one shared with its origin: of what was copied, only the todos are the fork's. */
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
 * Whether there is more than commands that only the host executed. In old versions several in a row followed the same
 * line (seen in 1.0.43: `/doctor`, `/status`, `/mcp`), and a boundary follows the same line as its `/compact`.
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
