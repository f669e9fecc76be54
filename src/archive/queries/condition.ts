/** Pieces of a WHERE clause, each with its values. Pure. */
import { withSlashes } from "../../util/path.ts"

export interface Condition {
  readonly sql: string
  readonly values: readonly string[]
}

/** What rows `m` of `messages` must be. */
interface MessagesWanted {
  readonly turns: ReadonlySet<number> | undefined
  readonly session: string | undefined
  /** ISO 8601 in UTC. */
  readonly since: string | undefined
  readonly until: string | undefined
}

/** @returns undefined if nothing is asked for that the index's marks do not cover */
export function messagesWhere({ turns, session, since, until }: MessagesWanted): Condition | undefined {
  const parts: Condition[] = []
  if (turns !== undefined) {
    parts.push({ sql: "m.turn IN (SELECT value FROM json_each(?))", values: [`[${[...turns].join()}]`] })
  }
  // A session's mark also covers its subagents.
  if (session?.includes("/")) parts.push({ sql: "m.session = ?", values: [session] })
  if (since !== undefined) parts.push({ sql: "m.time >= ?", values: [since] })
  if (until !== undefined) parts.push({ sql: "m.time < ?", values: [until] })
  if (parts.length === 0) return undefined
  return { sql: parts.map(({ sql }) => sql).join(" AND "), values: parts.flatMap(({ values }) => values) }
}

/**
 * A condition on rows `f` of `files`: the path equals or ends with `typed`. With `*` or `?` it is a pattern, whose `*`
 * also crosses folders; a slash at the end means everything below that folder. Windows paths are stored with forward
 * slashes.
 */
export function pathNamed(typed: string): Condition {
  const file = typed.includes("/") ? withSlashes(typed) : withSlashes(typed).replaceAll("\\", "/")
  const end = file.replace(/^(\.?\/)+/, "")
  const pattern = (text: string): string => (text.endsWith("/") ? `${text}*` : text).replaceAll("[", "[[]")
  if (/[*?]|\/$/.test(file)) {
    return { sql: "(f.path GLOB ? OR f.path GLOB ?)", values: [pattern(file), `*/${pattern(end)}`] }
  }
  return {
    sql: "(f.path IN (?, ?) OR substr(f.path, -length(?)) = ?)",
    values: [file, end, `/${end}`, `/${end}`],
  }
}
