/**
 * The transcript archive of claude-flow's context persistence hook: either the table `transcript_entries` in
 * `transcript-archive.db`, or the same entries as an array in `transcript-archive.json`.
 *
 * An entry is a turn: the prompt, one text of the answer, and the names of the tools called.
 */

import { parseJson } from "../../base/json-files.ts"
import { dirname } from "../../base/path.ts"
import { isObject, type JsonObject, objectOf, stringOf } from "../../record/json.ts"
import type { Database, SQLQueryBindings } from "../../views/database.ts"
import type { ForeignSession, Item } from "./row-values.ts"
import { placeIn, type Row, textOf } from "./row-values.ts"

const USER = "User: "
const ASSISTANT = "\n\nAssistant: "

export function* sessionsInDatabase(db: Database, file: string): Generator<ForeignSession> {
  const ids = db
    .query<{ session_id: SQLQueryBindings }, []>(
      "SELECT session_id FROM transcript_entries GROUP BY session_id ORDER BY min(created_at), session_id",
    )
    .all()
  const entries = db.query<Row, [SQLQueryBindings]>(
    "SELECT * FROM transcript_entries WHERE session_id IS ? ORDER BY chunk_index, created_at, id",
  )
  for (const { session_id: id } of ids) {
    const rows = entries.all(id)
    yield session(
      textOf(id),
      rows.map((row) => ({ ...row, metadata: objectOf(parseJson(String(row["metadata"]))) })),
      file,
    )
  }
}

export function* sessionsInJson(entries: readonly unknown[], file: string): Generator<ForeignSession> {
  const bySession = new Map<string, JsonObject[]>()
  for (const entry of entries) {
    if (!isObject(entry)) continue
    const id = stringOf(objectOf(entry["metadata"])["sessionId"]) ?? ""
    const found = bySession.get(id)
    if (found === undefined) bySession.set(id, [entry])
    else found.push(entry)
  }
  const index = (entry: JsonObject): number => Number(objectOf(entry["metadata"])["chunkIndex"]) || 0
  for (const [id, found] of bySession) {
    yield session(
      id || undefined,
      found.toSorted((a, b) => index(a) - index(b)),
      file,
    )
  }
}

function session(id: string | undefined, entries: readonly JsonObject[], file: string): ForeignSession {
  return { id: id ?? "unnamed", cwd: projectOf(file), items: entries.flatMap(itemsOf) }
}

/** Archives are in `<project>/.claude-flow/data`. */
function projectOf(file: string): string | undefined {
  const data = dirname(file)
  return data.endsWith("/.claude-flow/data") ? dirname(dirname(data)) : undefined
}

/** Columns and fields that become a line's text or its place. */
const USED = ["content", "created_at", "createdAt", "id", "session_id", "embedding"]

function itemsOf(entry: JsonObject): Item[] {
  const content = textOf(entry["content"]) ?? ""
  const metadata = objectOf(entry["metadata"])
  const at = content.startsWith(USER) ? content.indexOf(ASSISTANT) : -1
  const prompt = at < 0 ? "" : content.slice(USER.length, at)
  const answer = at < 0 ? content : content.slice(at + ASSISTANT.length)
  const times = [entry["created_at"], entry["createdAt"], metadata["timestamp"]]
  const common = {
    ...placeIn("transcript_entries", entry, times, USED),
    key: `${textOf(metadata["chunkIndex"]) ?? textOf(entry["chunk_index"]) ?? ""} ${content}`,
  }
  const items: Item[] = []
  if (prompt.trim() !== "") items.push({ ...common, kind: "prompt", text: prompt })
  if (answer.trim() !== "") items.push({ ...common, kind: "answer", text: answer })
  return items
}
