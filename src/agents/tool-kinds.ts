/** What tools do, by the names under which they are kept, whichever agent has them. Pure. */
import type { ToolKind } from "./agent.ts"
import { CLAUDE_CODE_TOOLS } from "./claude-code/tool-table.ts"

/** Undefined for tools of servers and unknown ones. */
export const toolKind = (name: string | undefined): ToolKind | undefined =>
  name !== undefined && Object.hasOwn(CLAUDE_CODE_TOOLS, name) ? CLAUDE_CODE_TOOLS[name]!.kind : undefined

/** Names of all tools of agents. */
export const toolsKnown = (): string[] => Object.keys(CLAUDE_CODE_TOOLS)

/** Whether a tool runs commands, of whatever shell. */
export const isShell = (name: string | undefined): boolean =>
  SHELL_KINDS.some((kind) => kind === toolKind(name))

/** The kinds of such tools. */
export const SHELL_KINDS = ["run", "run-other"] as const satisfies readonly ToolKind[]

/** Names of the tools of these kinds. */
export const toolsOf = (...kinds: readonly ToolKind[]): string[] =>
  Object.keys(CLAUDE_CODE_TOOLS).filter((name) => kinds.includes(CLAUDE_CODE_TOOLS[name]!.kind))

/** SQL condition that a column names a tool of these kinds. For one name it is `=`, which a partial index needs. */
export function isTool(column: string, ...kinds: readonly ToolKind[]): string {
  const names = toolsOf(...kinds).map((name) => `'${name}'`)
  return names.length === 1 ? `${column} = ${names[0]}` : `${column} IN (${names.join(", ")})`
}
