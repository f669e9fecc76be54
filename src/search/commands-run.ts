/** How commands were run: each with its runs, how the last one ended, and where. */
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { wasRun } from "../archive/was-run.ts"
import { wordSet } from "../util/words.ts"
import { parseQuery } from "./query.ts"

export interface CommandRun {
  readonly command: string
  readonly runs: number
  readonly failures: number
  /** Of the last run: whether it failed; null while it is unanswered. */
  readonly failed: boolean | null
  /** Of the last run that failed with one. */
  readonly exitCode: number | null
  readonly error: string | null
  readonly time: string | null
  /** The turn of the last run, with `ctx:`. */
  readonly handle: string
}

interface Row {
  readonly command: string
  readonly isError: number | null
  readonly exitCode: number | null
  readonly error: string | null
  readonly time: string | null
  readonly handle: string
}

/**
 * Best first: a short command that has the words is more to the point than a long one.
 *
 * @param messages calls that have words of the query
 */
export function commandsRun(db: Database, query: string, messages: readonly number[]): CommandRun[] {
  const words = parseQuery(query).terms.map(({ word }) => word)
  const closeness = (command: string): number => {
    const own = wordSet(command)
    return words.filter((word) => own.has(word)).length / Math.sqrt(own.size + 1)
  }
  const rows = db
    .query<Row, [string, string]>(
      `SELECT c.target AS command, c.is_error AS isError, c.exit_code AS exitCode, c.error, m.time,
         ?1 || t.handle AS handle
       FROM json_each(?2) w JOIN messages m ON m.id = w.value JOIN tool_calls c ON c.turn = m.turn AND c.use = m.id
       JOIN turns t ON t.id = m.turn WHERE c.name IN ('Bash', 'PowerShell')
         AND ${wasRun("c.error")} ORDER BY w.key`,
    )
    .all(HANDLE_PREFIX, JSON.stringify(messages))
  const runs = new Map<string, Row[]>()
  for (const row of rows) {
    const known = runs.get(row.command)
    if (known === undefined) runs.set(row.command, [row])
    else known.push(row)
  }
  const all = [...runs].map(([command, rows]) => ({ command, rows, score: closeness(command) }))
  return all.sort((a, b) => b.score - a.score).map(({ command, rows }) => summary(command, rows))
}

function summary(command: string, all: readonly Row[]): CommandRun {
  const last = all.reduce((newest, one) => ((one.time ?? "") > (newest.time ?? "") ? one : newest))
  return {
    command,
    runs: all.length,
    failures: all.filter(({ isError }) => isError === 1).length,
    failed: last.isError === null ? null : last.isError === 1,
    exitCode: last.exitCode,
    error: last.error,
    time: last.time,
    handle: last.handle,
  }
}
