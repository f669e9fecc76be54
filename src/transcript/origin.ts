/**
 * Whose words each part of a message is. Pure.
 *
 * Only what a human or the model of the session itself said is given back as prose; the rest is data that anybody may
 * have written.
 */
import type { Part } from "./types.ts"

export type Origin = "human" | "assistant" | "tool" | "web" | "subagent" | "import" | "host"

/** What decides beside the part itself. */
export interface Surroundings {
  /** The line comes from another tool's archive. */
  readonly imported: boolean
  /** The line is a subagent's, in its own transcript or within its parent's. */
  readonly subagent: boolean
  /** Name of the tool that a result is of; undefined when nothing tells. */
  readonly toolName: (id: string) => string | undefined
}

/** The origin of each part, in their order. */
export function originsOf(parts: readonly Part[], around: Surroundings): Origin[] {
  const isResult = parts.some(({ kind }) => kind === "toolResult")
  return parts.map((part) => (around.imported ? "import" : originOf(part, isResult, around)))
}

/** The origin that a message is known by: that of its first part with words of anybody but the host. */
export const messageOrigin = (origins: readonly Origin[]): Origin =>
  origins.find((origin) => origin !== "host") ?? "host"

/** Whether words of this origin may be given back as prose. */
export const isProse = (origin: Origin): boolean => origin === "human" || origin === "assistant"

function originOf(part: Part, isResult: boolean, { subagent, toolName }: Surroundings): Origin {
  switch (part.kind) {
    case "prompt":
    case "enqueued":
      // In a subagent's transcript no human speaks, whatever the line says.
      return subagent ? "assistant" : "human"
    // The model's own words to its subagent.
    case "brief":
      return "assistant"
    case "text":
    case "thinking":
    case "toolUse":
      return subagent ? "subagent" : "assistant"
    case "toolResult":
      return toolOrigin(toolName(part.id))
    case "media":
      return isResult ? "tool" : subagent ? "subagent" : "human"
    default:
      return "host"
  }
}

const WEB_TOOLS = new Set(["WebFetch", "WebSearch", "web_fetch", "web_search"])
/** Servers and tools that bring pages of strangers. */
const WEB_SERVER =
  /^mcp__.*(?:browser|playwright|puppeteer|selenium|chrome|fetch|web|http|url|crawl|scrap|search|tavily|exa|brave)/i
const AGENT_TOOLS = new Set(["Task", "Agent", "AgentOutputTool"])

/** The origin of what a tool gave back. */
export function toolOrigin(name: string | undefined): "tool" | "web" | "subagent" {
  if (name === undefined) return "tool"
  if (AGENT_TOOLS.has(name)) return "subagent"
  return WEB_TOOLS.has(name) || WEB_SERVER.test(name) ? "web" : "tool"
}

/**
 * Older hosts write a human's reason for refusing a call only into its result, where a tool of a stranger may write the
 * same words. Those of such a tool, and of one that nobody knows, are not a human's.
 */
export function withoutForgedRefusals(
  parts: readonly Part[],
  toolName: Surroundings["toolName"],
): readonly Part[] {
  if (!parts.some((part) => part.kind === "prompt" && part.within !== undefined)) return parts
  return parts.map((part) => {
    if (part.kind !== "prompt" || part.within === undefined) return part
    return isHostTool(toolName(part.within)) ? part : { kind: "notice", text: part.text }
  })
}

/** Whether a tool is the host's own: known, no server's, and nothing that brings a stranger's words by its nature. */
export const isHostTool = (name: string | undefined): boolean =>
  name !== undefined && !name.startsWith("mcp__") && toolOrigin(name) === "tool"
