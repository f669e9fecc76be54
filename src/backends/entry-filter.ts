/** Which entries pass what a query is narrowed to, by their metadata. Pure. */
import { type EntriesWanted, isOfSession } from "./backend.ts"
import type { EntryMetadata } from "./entry.ts"

/** Digits of an id that name an entry. */
const LEAST_DIGITS = 16

/** Whether `id` is what `get` is asked for. */
export const isNamed = (id: string, wanted: string): boolean =>
  wanted.length >= LEAST_DIGITS && id.startsWith(wanted)

export function filterFor(wanted: EntriesWanted): (metadata: EntryMetadata) => boolean {
  const { session, project, projectName, since, until, tool, file } = wanted
  const path = file === undefined ? undefined : new RegExp(pathPattern(file))
  const toolName = tool === undefined ? undefined : plainTool(tool)
  return (one) => {
    if (session !== undefined && !isOfSession(one.sessionId, session)) return false
    if (project !== undefined && one.project !== project) return false
    if (projectName !== undefined && projectNameOf(one.project) !== projectName) return false
    const last = one.ended ?? one.timestamp
    if (since !== undefined && (last === null || last < since)) return false
    if (until !== undefined && (one.timestamp === null || one.timestamp >= until)) return false
    if (toolName !== undefined && !one.toolNames.some((name) => plainTool(name) === toolName)) return false
    return path === undefined || one.filePaths.some((name) => path.test(name))
  }
}

/** The last part of the path of a project's folder; of a repository, the project's path is that of its `.git`. */
export const projectNameOf = (project: string | null): string | undefined =>
  project?.replace(/[/\\]\.git$/, "").match(/[^/\\]+$/)?.[0]

/** Letters and digits of a tool's name, as the archive's own index has it. */
export const plainTool = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

/**
 * A regular expression, for JavaScript and for PostgreSQL, for the paths that `file` names: the path, the end of a path,
 * or with `*`, `?` or a slash at the end a pattern, whose `*` also crosses folders.
 */
export function pathPattern(file: string): string {
  const bare = file.replaceAll("\\", "/").replace(/^(\.?\/)+/, "")
  const text = bare.endsWith("/") ? `${bare}*` : bare
  const escaped = text
    .replace(/[.+^${}()|[\]]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".")
  return `^(?:.*/)?${escaped}$`
}
