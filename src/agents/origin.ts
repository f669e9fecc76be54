/**
 * Whose words each part of a message is. Pure.
 *
 * Only words of a human or of the session's own model are given back as prose. Anybody may have written the rest.
 */

import { isRefusal } from "../claude/human-replies.ts"
import { atLeast, HEADS_OUTPUT } from "../claude/versions.ts"
import type { Part } from "../record/types.ts"
import { isShell, toolKind } from "./tool-kinds.ts"

export type Origin = "human" | "assistant" | "tool" | "web" | "subagent" | Foreign | "host"

/** Of lines that this user's Claude Code did not write: from another tool's archive, or fetched from others. */
export type Foreign = "import" | "other"

/** What decides besides the part itself. */
export interface Surroundings {
  /** What all parts are if the line is no line of this user's Claude Code. */
  readonly foreign: Foreign | undefined
  /** Whether the line is a subagent's, in its own transcript or within its parent's. */
  readonly subagent: boolean
  /** Name of the tool that a result belongs to; undefined if unknown. */
  readonly toolName: (id: string) => string | undefined
}

/** The origin of each part, in order. */
export function originsOf(parts: readonly Part[], around: Surroundings): Origin[] {
  const isResult = parts.some(({ kind }) => kind === "toolResult")
  return parts.map((part) => {
    if (around.foreign !== undefined) return around.foreign
    return part.kind === "toolResult" && isReport(part, parts) ? "host" : originOf(part, isResult, around)
  })
}

/** The origin of a message: that of its first part with words of anyone except Claude Code. */
export const messageOrigin = (origins: readonly Origin[]): Origin =>
  origins.find((origin) => origin !== "host") ?? "host"

/**
 * Whether a result is but Claude Code's report of what a human says in the same line: an answer, or a refusal's reason.
 */
export const isReport = (result: ToolResult, parts: readonly Part[]): boolean =>
  parts.some(
    (part) =>
      (part.kind === "reply" && part.within === result.id) ||
      (part.kind === "prompt" && result.isError && isRefusal(result.text)),
  )

type ToolResult = Extract<Part, { readonly kind: "toolResult" }>

/** Whether words of this origin may be given back as prose. */
export const isProse = (origin: Origin): boolean => origin === "human" || origin === "assistant"

function originOf(part: Part, isResult: boolean, { subagent, toolName }: Surroundings): Origin {
  switch (part.kind) {
    case "prompt":
    case "reply":
    case "enqueued":
      // No human speaks in a subagent's transcript, whatever the line says.
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

/** Servers and tools that fetch strangers' pages. */
const WEB_SERVER =
  /^mcp__.*(?:browser|playwright|puppeteer|selenium|chrome|fetch|web|http|url|crawl|scrap|search|tavily|exa|brave)/i

/** The origin of a tool's result. */
export function toolOrigin(name: string | undefined): "tool" | "web" | "subagent" {
  if (name === undefined) return "tool"
  const kind = toolKind(name)
  if (kind === "agent") return "subagent"
  return kind === "fetch" || WEB_SERVER.test(name) ? "web" : "tool"
}

/**
 * Turns forged reasons for refusals into notices, and leaves out forged answers to questions. Older versions write a
 * human's reason only into the call's result, where a stranger's tool may write the same words, and where a command may
 * have printed them. So in the results of such tools, and of unknown ones, they do not count; answers only count in the
 * results of Claude Code's own form.
 *
 * @param version of Claude Code
 */
export function withoutForgedWords(
  parts: readonly Part[],
  toolName: Surroundings["toolName"],
  version: string | undefined,
): readonly Part[] {
  if (!parts.some((part) => "within" in part && part.within !== undefined)) return parts
  return parts.flatMap((part): Part[] => {
    if (part.kind === "reply") return toolKind(toolName(part.within)) === "ask" ? [part] : []
    if (part.kind !== "prompt" || part.within === undefined) return [part]
    const tool = toolName(part.within)
    const isClaudes = isClaudeTool(tool) && (!isShell(tool) || atLeast(version, HEADS_OUTPUT))
    return [isClaudes ? part : { kind: "notice", text: part.text }]
  })
}

/** Whether a tool is Claude Code's own: known, not a server's, and not one that brings strangers' words by nature. */
export const isClaudeTool = (name: string | undefined): boolean =>
  name !== undefined && !name.startsWith("mcp__") && toolOrigin(name) === "tool"

/** With these words, Claude Code begins a session with a plan that the model wrote and the human accepted. */
const PLAN = /^\s*Implement the following plan:\s/

/** What the human wrote of a prompt with an accepted plan: nothing. */
export const withoutPlan = (prompt: string): string => (PLAN.test(prompt) ? "" : prompt)
