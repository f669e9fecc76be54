/** Finds the tool of a result, which names only its call. */
import type { Part } from "../record/types.ts"
import type { Database } from "./database.ts"

/** @returns undefined if the call is unknown or names no tool */
export function toolNameOf(db: Database, session: string, id: string): string | undefined {
  const row = db
    .query<{ name: string }, [string, string]>("SELECT name FROM tool_calls WHERE session = ? AND id = ?")
    .get(session, id)
  return row?.name || undefined
}

/** Tools called or answering in a message. */
export const toolsIn = (db: Database, session: string, parts: readonly Part[]): string[] =>
  parts.flatMap((part) => {
    if (part.kind === "toolUse") return [part.name]
    return part.kind === "toolResult" ? (toolNameOf(db, session, part.id) ?? []) : []
  })
