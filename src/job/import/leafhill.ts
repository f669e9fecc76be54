/**
 * leafhill-persistent-memory's `memory.db`: each message is a row of `conversations`, and what the agent was told to
 * remember is in `memories` and `tasks`.
 */
import type { Database, SQLQueryBindings } from "../../views/database.ts"
import { type ForeignSession, type Item, inOrder, placeIn, type Row, textOf } from "./row-values.ts"
import { columnsOf } from "./untouched-sqlite.ts"

/** Session names have the form `<Claude Code's id>-<name of the folder>`. */
const HOSTS_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=-)/

export function* sessionsInLeafhill(db: Database): Generator<ForeignSession> {
  const ids = db
    .query<{ id: SQLQueryBindings }, []>(
      "SELECT session_id AS id FROM conversations GROUP BY session_id ORDER BY min(id)",
    )
    .all()
  const rows = db.query<Row, [SQLQueryBindings]>(
    "SELECT * FROM conversations WHERE session_id IS ? ORDER BY id",
  )
  for (const { id } of ids) {
    const name = textOf(id) ?? "unnamed"
    yield { id: HOSTS_ID.exec(name)?.[0] ?? name, cwd: undefined, items: inOrder(itemsOf(rows.all(id))) }
  }
  for (const table of ["memories", "tasks"] as const) {
    if (columnsOf(db, table).length === 0) continue
    const kept = db.query<Row, []>(`SELECT * FROM ${table} ORDER BY id`).all()
    if (kept.length > 0) yield { id: table, cwd: undefined, items: kept.flatMap((row) => keptIn(table, row)) }
  }
}

/**
 * Before each compaction, the tool stores the whole transcript again, in addition to the prompts and answers that it
 * already has. There, a tool's result looks like a human's message. So if the real prompts are known, every other user
 * message becomes a note.
 */
function itemsOf(rows: readonly Row[]): Item[] {
  const asked = new Set(rows.filter((row) => row["entry_type"] === "raw_user").map((row) => row["content"]))
  const stored = new Set(rows.filter((row) => row["entry_type"] === "pre_compact").map((row) => wordsOf(row)))
  return rows.flatMap((row): Item[] => {
    const text = textOf(row["content"])
    if (text === undefined) return []
    const isRaw = row["entry_type"] === "raw_user" || row["entry_type"] === "raw_assistant"
    if (isRaw && stored.has(wordsOf(row))) return []
    const isUser = row["role"] === "user"
    const isNote = isUser && asked.size > 0 && !asked.has(row["content"])
    const model = textOf(row["model"])
    const usage = usageOf(row)
    const place = placeIn("conversations", row, [row["message_timestamp"], row["created_at"]], USED)
    return [
      {
        ...place,
        kind: isNote ? "note" : isUser ? "prompt" : "answer",
        text,
        key: `${textOf(row["message_timestamp"]) ?? place.time ?? ""} ${text}`,
        ...(model && { model }),
        ...(usage && { usage }),
      },
    ]
  })
}

const wordsOf = (row: Row): string => `${String(row["role"])} ${String(row["content"])}`

const USED = (
  "id content role created_at message_timestamp model input_tokens output_tokens cache_creation_tokens " +
  "cache_read_tokens"
).split(" ")

function usageOf(row: Row): Record<string, number> | undefined {
  if (typeof row["input_tokens"] !== "number") return undefined
  const count = (name: string): number => Number(row[name]) || 0
  return {
    input_tokens: count("input_tokens"),
    output_tokens: count("output_tokens"),
    cache_creation_input_tokens: count("cache_creation_tokens"),
    cache_read_input_tokens: count("cache_read_tokens"),
  }
}

function keptIn(table: "memories" | "tasks", row: Row): Item[] {
  const parts =
    table === "memories"
      ? [`${textOf(row["category"]) ?? ""}: ${textOf(row["key"]) ?? ""}`, row["value"]]
      : [row["subject"], row["description"], row["status"]]
  const text = parts.flatMap((part) => textOf(part) ?? []).join("\n")
  if (text === "") return []
  const place = placeIn(
    table,
    row,
    [row["updated_at"], row["created_at"]],
    ["id", "created_at", "updated_at"],
  )
  return [{ ...place, kind: "answer", text, key: `${table} ${text}` }]
}
