/**
 * claude-mem's database: the human's prompts, the tool calls (in newer versions), and what claude-mem's model made of
 * them (observations, session summaries).
 */

import { parseJson } from "../../base/json-files.ts"
import type { Database } from "../../views/database.ts"
import {
  absolutePath,
  type ForeignSession,
  type Item,
  inOrder,
  placeIn,
  type Row,
  textOf,
} from "./row-values.ts"
import { columnsOf } from "./untouched-sqlite.ts"

/** Column names, over the versions, of Claude Code's session id and of claude-mem's own. */
const CLAUDES = ["content_session_id", "claude_session_id"]
const OWN = ["memory_session_id", "sdk_session_id"]

interface Source {
  readonly table: string
  readonly by: readonly string[]
  readonly itemsOf: (row: Row) => Item[]
}

const SOURCES: readonly Source[] = [
  { table: "user_prompts", by: CLAUDES, itemsOf: promptIn },
  { table: "tool_uses", by: CLAUDES, itemsOf: callIn },
  { table: "observations", by: OWN, itemsOf: (row) => told("observations", row) },
  { table: "session_summaries", by: OWN, itemsOf: (row) => told("session_summaries", row) },
]

export function* sessionsInClaudeMem(db: Database): Generator<ForeignSession> {
  const sessions = db.query<Row, []>("SELECT * FROM sdk_sessions ORDER BY started_at_epoch, id").all()
  const found = SOURCES.flatMap((source) => {
    const columns = columnsOf(db, source.table)
    const by = source.by.find((column) => columns.includes(column))
    return by === undefined ? [] : [{ ...source, column: by }]
  })
  for (const row of sessions) {
    const claude = firstOf(row, CLAUDES)
    const own = firstOf(row, OWN)
    const id = claude ?? own
    if (id === undefined) continue
    let cwd: string | undefined
    const items: Item[] = []
    for (const { table, by, column, itemsOf } of found) {
      const wanted = by === CLAUDES ? claude : own
      if (wanted === undefined) continue
      const rows = db
        .query<Row, [string]>(`SELECT * FROM ${table} WHERE ${column} = ? ORDER BY id`)
        .all(wanted)
      for (const one of rows) {
        cwd ??= absolutePath(one["cwd"])
        items.push(...itemsOf(one))
      }
    }
    const title = textOf(row["custom_title"])
    if (title !== undefined) items.push(titleOf(row, title))
    yield { id, cwd, items: inOrder(items) }
  }
}

const firstOf = (row: Row, columns: readonly string[]): string | undefined =>
  columns.map((column) => textOf(row[column])).find((value) => value !== undefined)

const USED = ["id", "created_at", "created_at_epoch", "prompt_text", "tool_input", "tool_response", "text"]

function common(
  table: string,
  row: Row,
  key: string,
  told: readonly string[] = [],
): Omit<Item, "kind" | "text"> {
  const times = [row["created_at_epoch"], row["created_at"]]
  return { ...placeIn(table, row, times, [...USED, ...told]), key: `${table} ${key}` }
}

function promptIn(row: Row): Item[] {
  const text = textOf(row["prompt_text"])
  if (text === undefined) return []
  return [
    { ...common("user_prompts", row, `${textOf(row["prompt_number"]) ?? ""} ${text}`), kind: "prompt", text },
  ]
}

function callIn(row: Row): Item[] {
  const id = textOf(row["tool_use_id"])
  if (id === undefined) return []
  const tool = { id, name: textOf(row["tool_name"]) ?? "" }
  const call = common("tool_uses", row, id)
  const { fields: _fields, ...place } = call
  const items: Item[] = [{ ...call, kind: "call", text: textOf(row["tool_input"]) ?? "{}", tool }]
  const result = textOf(row["tool_response"])
  if (result !== undefined) items.push({ ...place, kind: "result", text: result, tool })
  return items
}

/** Prose fields of an observation or summary, in reading order. */
const TOLD =
  "title subtitle narrative text facts request investigated learned completed next_steps notes".split(" ")

function told(table: string, row: Row): Item[] {
  const parts = TOLD.flatMap((name) => {
    const value = textOf(row[name])
    return value === undefined ? [] : [table === "observations" ? listed(value) : `${name}: ${listed(value)}`]
  })
  if (parts.length === 0) return []
  const text = parts.join("\n")
  return [
    { ...common(table, row, `${textOf(row["created_at_epoch"]) ?? ""} ${text}`, TOLD), kind: "answer", text },
  ]
}

/** Lists are stored as JSON arrays. */
function listed(value: string): string {
  const list = value.startsWith("[") ? parseJson(value) : undefined
  return Array.isArray(list) ? list.map((one) => `- ${String(one)}`).join("\n") : value
}

function titleOf(row: Row, title: string): Item {
  const times = [row["started_at_epoch"], row["started_at"]]
  return { ...placeIn("sdk_sessions", row, times, Object.keys(row)), kind: "title", text: title, key: title }
}
