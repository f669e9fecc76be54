/**
 * Prompts in the host's queue. Hosts write most of them twice: when they are put there, in the turn before, and when they
 * are taken out. Then only the latter are searched, or a prompt would be found with the answer to another.
 */
import type { Part } from "../record/types.ts"
import type { Database } from "./database.ts"
import { hash } from "./identity.ts"
import type { WordWriter } from "./word-index.ts"

const aliasOf = (text: string): bigint => hash("queued", text)

/** The alias of a line that puts a prompt into the queue; undefined for any other. */
export function queuedAlias(parts: readonly Part[]): bigint | undefined {
  const queued = parts.find((part) => part.kind === "enqueued")
  return queued && aliasOf(queued.text)
}

/** Call when a prompt has been taken out. */
export function takeFromQueue(db: Database, words: WordWriter, session: string, prompt: string): void {
  const alias = aliasOf(prompt)
  const rows = db
    .query<{ id: number }, [bigint, string]>("SELECT id FROM messages WHERE alias = ? AND session = ?")
    .all(alias, session)
  if (rows.length === 0) return
  for (const { id } of rows) words.empty(id)
  db.query("UPDATE messages SET alias = NULL WHERE alias = ? AND session = ?").run(alias, session)
}
