/** The title and text under which a part of a message is shown to people. Pure. */

import type { Origin } from "../agents/origin.ts"
import { toolKind } from "../agents/tool-kinds.ts"
import { bytes, oneLine } from "../base/text.ts"
import type { Part } from "../record/types.ts"

interface PartText {
  readonly title: string
  readonly text: string
}

/** Finds the call that a result belongs to. */
export type CallOf = (id: string) => { readonly name: string; readonly exitCode: number | null }

/** @returns undefined for a part that is not shown */
export function partText(part: Part, callOf: CallOf): PartText | undefined {
  switch (part.kind) {
    case "prompt":
      return { title: part.via === "typed" ? "prompt" : `prompt (${part.via})`, text: part.text }
    case "reply":
      return { title: "reply", text: part.question === "" ? part.text : `${part.question}\n→ ${part.text}` }
    case "enqueued":
      return { title: "prompt put into the queue", text: part.text }
    case "brief":
      return { title: "task for the subagent", text: part.text }
    case "text":
      return { title: "answer", text: part.text }
    case "toolUse":
      return { title: part.name || "tool", text: inputText(part.name, part.input) }
    case "toolResult": {
      const { name, exitCode } = callOf(part.id)
      const how = part.isError ? ` (error${exitCode === null ? "" : `, exit ${exitCode}`})` : ""
      return { title: `result of ${name}${how}`, text: part.text || "(empty)" }
    }
    case "output":
      return { title: part.isError ? "error output" : "output", text: part.text }
    case "context":
      return { title: `context from ${part.source}`, text: part.text }
    case "apiError":
      return { title: "API error", text: part.text }
    case "summary":
      return { title: `${part.by ?? "Claude Code"}'s summary`, text: part.text }
    case "boundary": {
      const text = part.preTokens === undefined ? "" : `at ${part.preTokens} tokens`
      return { title: part.trigger === "unknown" ? "compaction" : `compaction (${part.trigger})`, text }
    }
    case "media":
      return { title: "media", text: `${part.mediaType}, ${bytes(Math.floor((part.base64Length * 3) / 4))}` }
    case "title":
      return undefined
    default:
      return { title: part.kind, text: part.text }
  }
}

/** The first line of an error that says more than that there was one. */
export const errorLine = (text: string): string =>
  oneLine(
    text
      .slice(0, 4000)
      .replace(/^(?:Error: )?Exit code -?\d+\s*|<\/?tool_use_error>/g, "")
      .trim()
      .split("\n", 1)[0]!,
  )

/** A command as it would be typed; any other input field by field. */
export function inputText(name: string, input: unknown): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return JSON.stringify(input) ?? ""
  const { command, ...rest } = input as Record<string, unknown>
  if (toolKind(name) === "run" && typeof command === "string") {
    return [`$ ${command}`, ...Object.entries(rest).map(field)].join("\n")
  }
  return Object.entries(input as Record<string, unknown>)
    .map(field)
    .join("\n")
}

function field([key, value]: [string, unknown]): string {
  if (typeof value !== "string") return `${key}: ${JSON.stringify(value)}`
  return value.includes("\n") ? `${key}:\n    ${value.replaceAll("\n", "\n    ")}` : `${key}: ${value}`
}

export function callsIn(
  tools: readonly { readonly id: string; readonly name: string; readonly exitCode: number | null }[],
): CallOf {
  const byId = new Map(tools.map((call) => [call.id, call]))
  return (id) => {
    const call = byId.get(id)
    return { name: call?.name || "tool", exitCode: call?.exitCode ?? null }
  }
}

/** Behind a part's title, if it is not of the session's own conversation. */
export const whoseOf = (origin: Origin, sidechain: boolean): string =>
  FOREIGN[origin] ?? (sidechain ? " (subagent)" : "")

const FOREIGN: Partial<Record<Origin, string>> = { import: " (imported)", other: " (written by others)" }
