/** What is searched in a message, and what a hit shows of it. Pure. */
import { cut } from "../base/text.ts"
import { isObject } from "./json.ts"
import type { Part } from "./types.ts"

/**
 * What kind of text a message is to a search: that of its weightiest part. A `failure` is a result that tells of one,
 * which is known once its call is (views/turn-writer.ts).
 */
type Kind = "prompt" | "answer" | "thinking" | "call" | "result" | "failure" | "host"

interface Searchable {
  readonly kind: Kind
  readonly text: string
}

/** UTF-16 units of a part that are searched: a file of a megabyte is found by its beginning. */
const MOST = 200_000

const KINDS: Readonly<Record<Part["kind"], Kind>> = {
  prompt: "prompt",
  reply: "prompt",
  enqueued: "prompt",
  brief: "prompt",
  text: "answer",
  thinking: "thinking",
  toolUse: "call",
  toolResult: "result",
  output: "result",
  interrupt: "host",
  notice: "host",
  context: "host",
  apiError: "host",
  summary: "host",
  boundary: "host",
  title: "host",
  media: "host",
}

const ORDER: readonly Kind[] = ["prompt", "answer", "call", "result", "thinking", "host"]

/**
 * @param role who speaks
 * @param injected whether Claude Code's or a plugin's words take the place of a human's
 */
export function searchable(parts: readonly Part[], role: string, injected = role === "host"): Searchable {
  const said = withoutRepeated(parts, role)
  const kind = injected
    ? "host"
    : (ORDER.find((one) => said.some((part) => KINDS[part.kind] === one)) ?? "host")
  return { kind, text: said.map(textOf).filter(Boolean).join("\n") }
}

/** Answers to questions are the human's, and stand for the result that repeats them; in what is not a human's, none. */
function withoutRepeated(parts: readonly Part[], role: string): readonly Part[] {
  if (!parts.some(({ kind }) => kind === "reply")) return parts
  if (role !== "human") return parts.filter(({ kind }) => kind !== "reply")
  const within = new Set(parts.flatMap((part) => (part.kind === "reply" ? [part.within] : [])))
  return parts.filter((part) => part.kind !== "toolResult" || !within.has(part.id))
}

function textOf(part: Part): string {
  switch (part.kind) {
    case "toolUse":
      return `${part.name}: ${inputText(part.input)}`
    case "reply":
      return cut(part.question === "" ? part.text : `${part.question} → ${part.text}`, MOST, "")
    case "interrupt":
    case "boundary":
    case "media":
      return ""
    default:
      return cut(part.text, MOST, "")
  }
}

/** The strings of a tool call's input, each on its own line. */
function inputText(input: unknown): string {
  const lines: string[] = []
  let room = MOST
  const visit = (value: unknown, depth: number): void => {
    if (room <= 0 || depth > 8) return
    if (typeof value === "string") {
      lines.push(cut(value, room, ""))
      room -= value.length
    } else if (Array.isArray(value)) for (const item of value) visit(item, depth + 1)
    else if (isObject(value)) for (const name in value) visit(value[name], depth + 1)
  }
  visit(input, 0)
  return lines.join("\n")
}
