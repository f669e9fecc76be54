/**
 * Whether the database has the tables and columns that its version has. Pages can be sound where these are not: another
 * program dropped some, or it is another program's file.
 */
import { codeOf, isDamage } from "../util/errors.ts"
import { type Database, emptyDatabase, openDatabase, SCHEMA_VERSION, schemaVersion } from "./database.ts"

/** ms to wait for others. */
const PATIENCE = 2000

/** What is wrong; undefined where nothing is, and for a later version's, which we do not know. */
export function shapeProblem(db: Database): string | undefined {
  const version = schemaVersion(db)
  if (version > SCHEMA_VERSION) return undefined
  if (version < 0) return `there is no schema ${version}`
  const found = partsOf(db)
  const wanted = partsAt(version)
  for (const part of wanted) if (!found.has(part)) return `it has no ${part}`
  // What a later version adds would be in that version's way.
  for (const part of partsAt(SCHEMA_VERSION)) {
    if (found.has(part) && !wanted.has(part)) return `it has ${part}, which schema ${version} has not`
  }
  return undefined
}

/** Whether an error that the views gave is one that only new ones help against. */
export function isUnusable(dataHome: string, error: unknown): boolean {
  if (isDamage(error)) return true
  if (codeOf(error) !== "SQLITE_ERROR") return false
  try {
    const db = openDatabase(dataHome, { wait: PATIENCE, readonly: true })
    try {
      return shapeProblem(db) !== undefined
    } finally {
      db.close()
    }
  } catch (other) {
    return isDamage(other)
  }
}

function partsAt(version: number): ReadonlySet<string> {
  const db = emptyDatabase(version)
  try {
    return partsOf(db)
  } finally {
    db.close()
  }
}

/** Names only: how SQLite writes a table down is its own business. */
function partsOf(db: Database): ReadonlySet<string> {
  const rows = db
    .query<{ part: string }, []>(
      `SELECT type || ' ' || name AS part FROM sqlite_schema
       UNION ALL SELECT 'column ' || t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table'`,
    )
    .all()
  return new Set(rows.map(({ part }) => part))
}
