/**
 * Messages as lists of blocks, in the form of Anthropic's API, as several agents write them: a text, a thought, a call,
 * what it gave back, an image. Pure.
 */
import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { MARK, splitGiven } from "../record/our-marks.ts"
import type { Part } from "../record/types.ts"

/** Blocks of a message; a text alone may stand for one. */
export function contentBlocks(content: unknown): JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }]
  return (Array.isArray(content) ? content : []).flatMap((one: unknown) =>
    typeof one === "string" ? [{ type: "text", text: one }] : isObject(one) ? [one] : [],
  )
}

interface Reading {
  /** What was typed of a text; empty if nothing was. */
  readonly typed?: (text: string) => string
  /** Whether a model speaks in the user's place: to its subagent. */
  readonly isBrief?: boolean
}

/** What stands in the user's place: typed words, and what calls gave back. */
export function userBlocks(
  content: unknown,
  { typed = (text) => text, isBrief = false }: Reading = {},
): Part[] {
  return contentBlocks(content).flatMap((block): Part[] => {
    const text = block["type"] === "text" ? stringOf(block["text"]) : undefined
    if (text === undefined) return otherParts(block)
    if (text.trimStart().startsWith(MARK)) return [{ kind: "context", source: "hook", text }]
    const said = typed(text)
    if (said.trim() === "") return []
    return [isBrief ? { kind: "brief", text: said } : { kind: "prompt", via: "typed", text: said }]
  })
}

/**
 * What the model says, thinks and calls.
 *
 * @param input of a call, in the fields that other agents have for it
 */
export function modelBlocks(
  content: unknown,
  input: (name: string, fields: JsonObject) => unknown = (_name, fields) => fields,
): Part[] {
  return contentBlocks(content).flatMap((block): Part[] => {
    const type = stringOf(block["type"]) ?? ""
    const text = stringOf(block["thinking"]) ?? stringOf(block["text"])
    if (/^(?:thinking|reasoning|thought)$/.test(type))
      return text === undefined ? [] : [{ kind: "thinking", text }]
    if (type === "text") return text === undefined ? [] : [{ kind: "text", text }]
    if (type !== "tool_use") return otherParts(block)
    const name = stringOf(block["name"]) ?? ""
    return [
      {
        kind: "toolUse",
        id: stringOf(block["id"]) ?? "",
        name,
        input: input(name, objectOf(block["input"])),
      },
    ]
  })
}

function otherParts(block: JsonObject): Part[] {
  if (block["type"] !== "tool_result") return mediaPart(block)
  const id = stringOf(block["tool_use_id"]) ?? ""
  const { own, given } = splitGiven(textOf(block["content"]))
  return [
    { kind: "toolResult", id, text: own, isError: block["is_error"] === true },
    ...given.map((text): Part => ({ kind: "context", source: "hook", text })),
    ...contentBlocks(block["content"]).flatMap(mediaPart),
  ]
}

const textOf = (content: unknown): string =>
  contentBlocks(content)
    .flatMap((one) => stringOf(one["text"]) ?? [])
    .join("\n")

function mediaPart(block: JsonObject): Part[] {
  const { media_type: mediaType, data } = objectOf(block["source"])
  if (typeof mediaType !== "string" || typeof data !== "string") return []
  return [{ kind: "media", mediaType, base64Length: data.length }]
}

/** Base64 of what these call media, in their order. */
export const blockMedia = (content: unknown): string[] =>
  contentBlocks(content).flatMap((one) =>
    [one, ...contentBlocks(one["content"])].flatMap(
      (block) => stringOf(objectOf(block["source"])["data"]) ?? [],
    ),
  )

/** What agents add to a prompt, in tags of their own, before and behind what was typed. What the user quotes stays. */
export function withoutTags(text: string, ...names: readonly string[]): string {
  let rest = text.trim()
  for (;;) {
    const first = names.find((name) => rest.startsWith(`<${name}>`) && rest.includes(`</${name}>`))
    if (first === undefined) break
    rest = rest.slice(rest.indexOf(`</${first}>`) + first.length + 3).trimStart()
  }
  for (;;) {
    const last = names.find((name) => rest.endsWith(`</${name}>`))
    const from = last === undefined ? -1 : rest.lastIndexOf(`<${last}>`)
    if (from < 0) return rest
    rest = rest.slice(0, from).trimEnd()
  }
}
