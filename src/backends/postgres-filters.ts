/** What a query is narrowed to, as conditions on rows of `ctxbridge.entries`: the same as in entry-filter.ts. Pure. */
import type { EntriesWanted, EntryQuery } from "./backend.ts"
import { pathPattern, plainTool } from "./entry-filter.ts"

type Filter = Exclude<keyof EntriesWanted, "limit" | "withContent">

/** Texts of a list in the metadata. What is no list has none: a row that somebody damaged must not fail a search. */
const textsOf = (list: string): string =>
  `jsonb_array_elements_text(CASE jsonb_typeof(metadata->'${list}') WHEN 'array' THEN metadata->'${list}' ELSE '[]' END)`

/** Of the query's second parameter, which has what is wanted by name. */
const FILTERS: Readonly<Record<Filter, string>> = {
  session: "(session = $2->>'session' OR starts_with(session, ($2->>'session') || '/'))",
  project: "project = $2->>'project'",
  projectName:
    "substring(regexp_replace(project, '[/\\\\]\\.git$', '') FROM '[^/\\\\]+$') = $2->>'projectName'",
  since: "coalesce(metadata->>'ended', started) COLLATE \"C\" >= $2->>'since'",
  until: "started < $2->>'until'",
  tool: `EXISTS (SELECT FROM ${textsOf("toolNames")} t
    WHERE lower(regexp_replace(t, '[^[:alnum:]]+', '', 'g')) = $2->>'tool')`,
  file: `EXISTS (SELECT FROM ${textsOf("filePaths")} f WHERE f ~ ($2->>'file'))`,
}

/** An expression of SQL for the conditions that `narrowed` asks for, as SQL. */
export const CONDITIONS = Object.entries(FILTERS)
  .map(([name, sql]) => `CASE WHEN narrowed ? '${name}' THEN ' AND ${sql.replaceAll("'", "''")}' ELSE '' END`)
  .join(" ||\n    ")

/** What the functions that find are given. */
export function narrowedTo({ withContent, tool, file, ...rest }: EntryQuery): string {
  const { session, project, projectName, since, until } = rest
  const isAny = "isAny" in rest && rest.isAny === true
  return JSON.stringify({
    session,
    project,
    projectName,
    since,
    until,
    tool: tool && plainTool(tool),
    file: file && pathPattern(file),
    withContent: withContent === true ? true : undefined,
    isAny: isAny ? true : undefined,
  })
}
