/** What was found, as a terminal shows it. Pure. */
import { toolKind } from "../agents/tool-kinds.ts"
import type { Hit } from "../find/hit.ts"
import type { Snippet } from "../find/snippet.ts"

/** The file of a tool's call is named from its project on, unless only the part before it has words of the query. */
export function shownSnippet({
  snippet: text,
  marks,
  project,
  tool,
}: Pick<Hit, "snippet" | "marks" | "project" | "tool">): Snippet {
  const call = `${tool}: `
  const isOfFile = ["read", "edit", "write"].includes(toolKind(tool ?? undefined) ?? "")
  if (!isOfFile || project === null || !text.startsWith(`${call}${project}/`)) return { text, marks }
  const gone = project.length + 1
  const end = call.length + gone
  const kept = marks.flatMap(([from, to]) =>
    from >= end ? [[from - gone, to - gone] as const] : to <= call.length ? [[from, to] as const] : [],
  )
  return marks.length > 0 && kept.length === 0
    ? { text, marks }
    : { text: call + text.slice(end), marks: kept }
}
