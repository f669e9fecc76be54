/** Which tool answers: a result names its call, not the tool. */
import type { Database } from "./database.ts"

/** @returns undefined when the call is not known, or names none */
export function toolNameOf(db: Database, session: string, id: string): string | undefined {
  const row = db
    .query<{ name: string }, [string, string]>("SELECT name FROM tool_calls WHERE session = ? AND id = ?")
    .get(session, id)
  return row?.name || undefined
}
