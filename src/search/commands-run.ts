/** How commands were run: each command with its runs, how the last one ended, and where. */
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { type TakenBack, takenBackOf } from "../archive/taken-back.ts"
import { wasRun } from "../archive/was-run.ts"
import { errorLinesIn } from "../transcript/error-lines.ts"
import { wordSet } from "../util/words.ts"
import { parseQuery } from "./query.ts"
import type { CallPlace, WholeCalls } from "./whole-calls.ts"

/** `takenBack` is that of the last run's turn. */
export interface CommandRun extends TakenBack {
  /** As in the last run, with line breaks. */
  readonly command: string
  readonly runs: number
  readonly failures: number
  /** Whether the last run failed; null while it is unanswered. */
  readonly failed: boolean | null
  /** Exit code of the last run, when it failed with one. */
  readonly exitCode: number | null
  /** The line that names the last run's error, or the beginning of its output when none does. */
  readonly error: string | null
  readonly time: string | null
  /** The turn of the last run, with `ctx:`. */
  readonly handle: string
}

interface Row extends CallPlace {
  readonly command: string
  readonly isError: number | null
  readonly exitCode: number | null
  readonly error: string | null
  readonly time: string | null
  readonly handle: string
  readonly takenBack: number
}

export interface CommandsRequest {
  /** Undefined: all projects. */
  readonly project: string | undefined
  /**
   * How many commands, best first, are read from the vault. The others are shown as the one line that the views keep.
   */
  readonly limit: number
  readonly calls: WholeCalls
}

/**
 * Best first: of two commands with the same words, the shorter is more to the point.
 *
 * @param messages calls that contain words of the query, at least the newest call of each command
 */
export function commandsRun(
  db: Database,
  query: string,
  messages: readonly number[],
  { project, limit, calls }: CommandsRequest,
): CommandRun[] {
  const words = parseQuery(query).terms.map(({ word }) => word)
  const closeness = (command: string): number => {
    const own = wordSet(command)
    return words.filter((word) => own.has(word)).length / Math.sqrt(own.size + 1)
  }
  const rows = db
    .query<Row, [string, string]>(
      `SELECT c.target AS command, c.is_error AS isError, c.exit_code AS exitCode, c.error, m.time,
         ?1 || t.handle AS handle, t.taken_back AS takenBack, c.id, c.use, c.result
       FROM json_each(?2) w JOIN messages m ON m.id = w.value JOIN tool_calls c ON c.turn = m.turn AND c.use = m.id
       JOIN turns t ON t.id = m.turn WHERE c.name IN ('Bash', 'PowerShell')
         AND ${wasRun("c")} ORDER BY w.key`,
    )
    .all(HANDLE_PREFIX, JSON.stringify(messages))
  const runs = new Map<string, Row[]>()
  for (const row of rows) {
    const known = runs.get(row.command)
    if (known === undefined) runs.set(row.command, [row])
    else known.push(row)
  }
  const all = [...runs].map(([command, rows]) => ({ command, rows, score: closeness(command) }))
  const counts = countsOf(db, [...runs.keys()], project)
  return all
    .sort((a, b) => b.score - a.score)
    .map(({ command, rows }, n) => {
      const last = latestOf(rows)
      const whole = n < limit ? calls.target(last) : undefined
      const output = n < limit && last.isError === 1 ? calls.output(last) : undefined
      const error = named(output) ?? named(last.error) ?? last.error
      return summary(whole ?? command, { ...last, error }, counts.get(command)!)
    })
}

interface Counts {
  readonly command: string
  readonly runs: number
  readonly failures: number
}

/** Counts all runs, not only the ones that the search looked at. */
function countsOf(
  db: Database,
  commands: readonly string[],
  project: string | undefined,
): ReadonlyMap<string, Counts> {
  const rows = db
    .query<Counts, [string, string | null]>(
      `SELECT c.target AS command, count(*) AS runs, coalesce(sum(c.is_error), 0) AS failures
       FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN sessions s ON s.id = t.session
       LEFT JOIN projects p ON p.id = s.project
       WHERE c.name IN ('Bash', 'PowerShell') AND c.use IS NOT NULL AND ${wasRun("c")}
         AND c.target IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR p.path = ?2)
       GROUP BY c.target`,
    )
    .all(JSON.stringify(commands), project ?? null)
  return new Map(rows.map((row) => [row.command, row]))
}

const latestOf = (all: readonly Row[]): Row =>
  all.reduce((newest, one) => ((one.time ?? "") > (newest.time ?? "") ? one : newest))

const named = (output: string | null = null): string | undefined =>
  output === null ? undefined : errorLinesIn(output, true)[0]

function summary(command: string, last: Row, { runs, failures }: Counts): CommandRun {
  return {
    command,
    runs,
    failures,
    failed: last.isError === null ? null : last.isError === 1,
    exitCode: last.exitCode,
    error: last.error,
    time: last.time,
    handle: last.handle,
    ...takenBackOf(last),
  }
}
