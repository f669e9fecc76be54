/** What sessions are called. */
import type { Database } from "../database.ts"
import { FIRST_PROMPT } from "./turn-kinds.ts"

/** By session: its title, else its first prompt. Sessions that have neither are left out. */
export function titlesOf(db: Database, sessions: readonly string[]): Map<string, string> {
  const rows = db
    .query<{ id: string; title: string | null }, [string]>(
      `SELECT s.id, coalesce(s.title, ${FIRST_PROMPT}) AS title
       FROM sessions s WHERE s.id IN (SELECT value FROM json_each(?1))`,
    )
    .all(JSON.stringify(sessions))
  return new Map(rows.flatMap(({ id, title }) => (title ? [[id, title]] : [])))
}
