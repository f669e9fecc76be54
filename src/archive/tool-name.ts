/** Which tool answers: a result names its call, not the tool. */
import type { Part } from "../transcript/types.ts"
import type { Database } from "./database.ts"

/** @returns undefined when the call is not known, or names none */
export function toolNameOf(db: Database, session: string, id: string): string | undefined {
  const row = db
    .query<{ name: string }, [string, string]>("SELECT name FROM tool_calls WHERE session = ? AND id = ?")
    .get(session, id)
  return row?.name || undefined
}

/** Tools that are called or answer in a message. */
export const toolsIn = (db: Database, session: string, parts: readonly Part[]): string[] =>
  parts.flatMap((part) => {
    if (part.kind === "toolUse") return [part.name]
    return part.kind === "toolResult" ? (toolNameOf(db, session, part.id) ?? []) : []
  })
