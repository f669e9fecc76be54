/** What a query is narrowed to, as conditions on rows of `ctxbridge.entries`: the same as in entry-filter.ts. Pure. */
import type { EntriesWanted } from "./backend.ts"
import { pathPattern, plainTool } from "./entry-filter.ts"

/** @param given adds a parameter and returns what stands for it, as text */
export function conditionsOf(wanted: EntriesWanted, given: (value: string) => string): string[] {
  const { session, project, projectName, since, until, tool, file } = wanted
  const conditions: string[] = []
  if (session !== undefined) {
    const owner = given(session)
    conditions.push(`(session = ${owner} OR starts_with(session, ${owner} || '/'))`)
  }
  if (project !== undefined) conditions.push(`project = ${given(project)}`)
  if (projectName !== undefined) {
    const path = "regexp_replace(project, '[/\\\\]\\.git$', '')"
    conditions.push(`substring(${path} FROM '[^/\\\\]+$') = ${given(projectName)}`)
  }
  if (since !== undefined) {
    conditions.push(`coalesce(metadata->>'ended', started) COLLATE "C" >= ${given(since)}`)
  }
  if (until !== undefined) conditions.push(`started < ${given(until)}`)
  if (tool !== undefined) {
    const name = "lower(regexp_replace(t, '[^[:alnum:]]+', '', 'g'))"
    conditions.push(
      `EXISTS (SELECT FROM jsonb_array_elements_text(metadata->'toolNames') t WHERE ${name} = ${given(plainTool(tool))})`,
    )
  }
  if (file !== undefined) {
    conditions.push(
      `EXISTS (SELECT FROM jsonb_array_elements_text(metadata->'filePaths') f WHERE f ~ ${given(pathPattern(file))})`,
    )
  }
  return conditions
}
