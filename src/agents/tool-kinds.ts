/** What tools do, by the names under which they are kept, whichever agent has them. Pure. */

import type { AgentTool, ToolKind } from "../record/agent.ts"
import { AGENTS } from "./agents.ts"

/** Names are of one agent: what two call the same, both do. */
const TOOLS: Readonly<Record<string, AgentTool>> = Object.assign({}, ...AGENTS.map(({ tools }) => tools))

/** undefined for tools of servers and unknown ones */
export const toolNamed = (name: string | undefined): AgentTool | undefined =>
  name !== undefined && Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined

export const toolKind = (name: string | undefined): ToolKind | undefined => toolNamed(name)?.kind

/** Names of all tools of agents. */
export const toolsKnown = (): string[] => Object.keys(TOOLS)

/** Whether a tool runs commands, of whatever shell. */
export const isShell = (name: string | undefined): boolean =>
  SHELL_KINDS.some((kind) => kind === toolKind(name))

/** The kinds of such tools. */
export const SHELL_KINDS = ["run", "run-other"] as const satisfies readonly ToolKind[]

/** Names of the tools of these kinds. */
export const toolsOf = (...kinds: readonly ToolKind[]): string[] =>
  toolsKnown().filter((name) => kinds.includes(TOOLS[name]!.kind))

/** SQL condition that a column names a tool of these kinds. For one name it is `=`, which a partial index needs. */
export function isTool(column: string, ...kinds: readonly ToolKind[]): string {
  const names = toolsOf(...kinds).map((name) => `'${name}'`)
  return names.length === 1 ? `${column} = ${names[0]}` : `${column} IN (${names.join(", ")})`
}
