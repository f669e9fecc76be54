/** Finds other tools' archives, and recognises the tool that made a file by its content, not its name. */
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs"
import { CtxError, messageOf } from "../../base/errors.ts"
import { statsOf } from "../../base/files.ts"
import { join } from "../../base/path.ts"
import { isObject, objectOf, stringOf } from "../../record/json.ts"
import type { Database } from "../../views/database.ts"
import { sessionsInDatabase, sessionsInJson } from "./claude-flow.ts"
import { sessionsInClaudeMem } from "./claude-mem.ts"
import { sessionsInLeafhill } from "./leafhill.ts"
import type { ForeignArchive, Tool } from "./row-values.ts"
import { columnsOf, openUntouched } from "./untouched-sqlite.ts"

const SQLITE = "SQLite format 3\0"
/** Maximum bytes of a JSON archive, which is read at once. The tool rewrites it at every prompt and keeps it small. */
const LARGEST_JSON = 256 << 20

/** Whether the file could be another tool's archive: an SQLite file, or a JSON array of objects. */
export function looksForeign(file: string): boolean {
  const start = startOf(file)
  return start.startsWith(SQLITE) || /^\uFEFF?\s*\[\s*(?:\{|\]|$)/.test(start)
}

function startOf(file: string): string {
  const fd = openSync(file, "r")
  try {
    const bytes = Buffer.alloc(64)
    return bytes.toString("utf8", 0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}

/**
 * @param scratch folder for a copy of a database that is in use
 * @throws CtxError `foreign-damaged`, `foreign-unknown`, `foreign-busy`
 */
export function openForeignArchive(file: string, scratch: string): ForeignArchive {
  return startOf(file).startsWith(SQLITE) ? inSqlite(file, scratch) : inJson(file)
}

function inSqlite(file: string, scratch: string): ForeignArchive {
  const { db, close } = openUntouched(file, scratch)
  try {
    const tool = toolOf(db)
    const sessions = {
      "claude-flow": () => sessionsInDatabase(db, file),
      "claude-mem": () => sessionsInClaudeMem(db),
      leafhill: () => sessionsInLeafhill(db),
    }[tool]
    return { tool, sessions, close }
  } catch (error) {
    close()
    throw error
  }
}

/** Tables and columns that identify each tool's database. */
const TABLES_OF: Readonly<Record<Tool, readonly (readonly [table: string, columns: readonly string[]])[]>> = {
  "claude-flow": [
    // The last column tells it from what we send to a file under the same names.
    [
      "transcript_entries",
      ["id", "content", "metadata", "session_id", "chunk_index", "created_at", "access_count"],
    ],
  ],
  "claude-mem": [["sdk_sessions", ["id", "project", "started_at_epoch"]]],
  leafhill: [
    ["conversations", ["id", "session_id", "role", "content", "created_at"]],
    ["memories", ["id", "category", "key", "value"]],
  ],
}

function toolOf(db: Database): Tool {
  for (const [tool, tables] of Object.entries(TABLES_OF) as [Tool, (typeof TABLES_OF)[Tool]][]) {
    const fits = tables.every(([table, columns]) => {
      const there = columnsOf(db, table)
      return columns.every((column) => there.includes(column))
    })
    if (fits) return tool
  }
  throw unknown("this database is not an archive that we can read")
}

const unknown = (message: string): CtxError =>
  new CtxError("foreign-unknown", message, {
    hint: "import reads those of claude-flow, claude-mem and leafhill, and transcripts (.jsonl)",
  })

function inJson(file: string): ForeignArchive {
  if (statSync(file).size > LARGEST_JSON) throw unknown("this JSON file is too large for an archive")
  let entries: unknown
  try {
    entries = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""))
  } catch (cause) {
    throw new CtxError("foreign-damaged", `the file is not a whole JSON document: ${messageOf(cause)}`, {
      cause,
    })
  }
  if (!Array.isArray(entries) || !entries.every(isEntry)) {
    throw unknown("this JSON file is not an archive that we can read")
  }
  return { tool: "claude-flow", sessions: () => sessionsInJson(entries as unknown[], file), close: () => {} }
}

const isEntry = (entry: unknown): boolean =>
  isObject(entry) &&
  typeof entry["content"] === "string" &&
  stringOf(entry["id"]) !== undefined &&
  stringOf(objectOf(entry["metadata"])["sessionId"]) !== undefined

export function foreignArchivesInPlace({ home, cwd }: { home: string; cwd: string }): string[] {
  const flow = join(cwd, ".claude-flow", "data", "transcript-archive")
  const places = [
    join(home, ".claude-mem", "claude-mem.db"),
    join(home, ".claude", "memory.db"),
    `${flow}.db`,
    `${flow}.json`,
  ]
  return places.filter((path) => statsOf(path)?.isFile() === true)
}
