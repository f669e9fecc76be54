/** A `memory.db` as leafhill-persistent-memory 1.4 and later leaves it, made from its schema, not by its program. */
import { Database } from "bun:sqlite"

const COLUMNS =
  "model TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_creation_tokens INTEGER, cache_read_tokens INTEGER"

export const LEAFHILL_SESSION = "5c10ab22-1111-4222-8333-444455556666"

const PROMPT = "Rename the flags. Always keep the old ones as aliases."
const ANSWER = "I decided to keep aliases because scripts use them."

/** @param journal `WAL` leaves the rows in the log, like a program that is still running */
export function makeLeafhill(path: string, journal: "DELETE" | "WAL" = "DELETE"): Database {
  const db = new Database(path, { create: true })
  db.run(`PRAGMA journal_mode = ${journal}`)
  db.run(
    "CREATE TABLE memories (id INTEGER PRIMARY KEY, category TEXT, key TEXT, value TEXT, tags TEXT, created_at TEXT, updated_at TEXT)",
  )
  db.run(`CREATE TABLE conversations (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, project TEXT,
    created_at TEXT, entry_type TEXT, raw_id INTEGER, ${COLUMNS}, message_timestamp TEXT)`)
  const insert = db.query(
    `INSERT INTO conversations (session_id, role, content, project, created_at, entry_type, model, input_tokens,
       output_tokens, message_timestamp) VALUES (?, ?, ?, 'flags', ?, ?, ?, ?, ?, ?)`,
  )
  const session = `${LEAFHILL_SESSION}-flags`
  insert.run(session, "user", PROMPT, "2026-03-01 10:00:00", "raw_user", null, null, null, null)
  insert.run(session, "assistant", ANSWER, "2026-03-01 10:00:09", "raw_assistant", null, null, null, null)
  insert.run(session, "summary", "Renamed flags", "2026-03-01 10:00:10", "summary", null, null, null, null)
  // It stores them again at each compaction, with tool results among the user's messages.
  for (const at of ["2026-03-01 11:00:00", "2026-03-01 12:00:00"]) {
    insert.run(session, "user", PROMPT, at, "pre_compact", null, null, null, "2026-03-01T10:00:00.000Z")
    insert.run(
      session,
      "user",
      "flags.ts: 12 lines",
      at,
      "pre_compact",
      null,
      null,
      null,
      "2026-03-01T10:00:05.000Z",
    )
    insert.run(
      session,
      "assistant",
      ANSWER,
      at,
      "pre_compact",
      "claude-test-1",
      10,
      20,
      "2026-03-01T10:00:08.000Z",
    )
  }
  db.run(
    "INSERT INTO memories VALUES (1, 'style', 'tabs', 'two spaces', NULL, '2026-03-01 09:00:00', '2026-03-01 09:00:00')",
  )
  return db
}
