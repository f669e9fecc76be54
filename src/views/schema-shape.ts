/**
 * Whether the database has the tables and columns of its version. Pages can be sound although these are wrong: another
 * program has dropped some, or it is another program's file.
 */
import { codeOf, isDamage } from "../base/errors.ts"
import { type Database, emptyDatabase, SCHEMA_VERSION, schemaVersion } from "./database.ts"
import { open } from "./open.ts"

/** How many schemas later versions may be ahead. A flipped bit in the header mostly makes a number far beyond. */
const AHEAD = 100

/** What is wrong; undefined if nothing is, or if a later version wrote it, whose tables we do not know. */
export function shapeProblem(db: Database): string | undefined {
  const version = schemaVersion(db)
  if (version > SCHEMA_VERSION) {
    const isOurs =
      version > SCHEMA_VERSION + AHEAD && partsOf(db).symmetricDifference(partsAt(SCHEMA_VERSION)).size === 0
    return isOurs ? `it says schema ${version}, but has the tables of ${SCHEMA_VERSION}` : undefined
  }
  if (version < 0) return `there is no schema ${version}`
  const found = partsOf(db)
  const wanted = partsAt(version)
  for (const part of wanted) if (!found.has(part)) return `it has no ${part}`
  // Tables or columns of a later version would get in the way of its migration.
  for (const part of partsAt(SCHEMA_VERSION)) {
    if (found.has(part) && !wanted.has(part)) return `it has ${part}, which schema ${version} has not`
  }
  return undefined
}

/**
 * Whether only new views help against this error of the views.
 *
 * @param own the caller's connection, if it has one: nobody may wait for a second
 */
export function isUnusable(dataHome: string, error: unknown, own?: Database): boolean {
  if (isDamage(error)) return true
  if (codeOf(error) !== "SQLITE_ERROR" && codeOf(error) !== "newer-schema") return false
  try {
    if (own !== undefined) return shapeProblem(own) !== undefined
    using db = open(dataHome, "look")
    return shapeProblem(db) !== undefined
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

/** Compares names only, since how SQLite writes a table's definition is up to SQLite. */
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
