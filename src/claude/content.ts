/** Content blocks of user and assistant messages. Each is read on its own, so a broken one affects only itself. */
import { withSlashes } from "../base/path.ts"
import { isBlank, isObject, type JsonObject, listedStrings, objectOf, stringOf } from "../record/json.ts"
import { linesWith } from "../record/lines-with.ts"
import type { Part } from "../record/types.ts"
import { saidInResult } from "./human-replies.ts"
import { type Speaker, userTextParts } from "./user-text.ts"

const PERSISTED = "<persisted-output>"
const SAVED_TO = "saved to: "
/** What decides how the content of a user line is read. */
interface UserEnvelope {
  readonly speaker: Speaker
  readonly isCompactionSummary: boolean
  /** Whether it is the text of a skill that the model loaded. */
  readonly isSkill: boolean
  readonly toolUseResult: unknown
  readonly userFeedback: unknown
}

/** Parts of a user message's `content`, whatever its type. */
export function userParts(content: unknown, envelope: UserEnvelope): Part[] {
  const blocks = blocksOf(content)
  const parts: Part[] = []
  const results = blocks.filter((block) => isObject(block) && isResult(block)).length
  for (const block of blocks) {
    const text = textOf(block)
    if (text !== undefined) {
      if (isBlank(text)) continue
      if (envelope.isCompactionSummary) parts.push({ kind: "summary", text })
      else if (envelope.isSkill) parts.push({ kind: "context", source: "skill", text })
      else parts.push(...userTextParts(text, envelope.speaker))
    } else if (isObject(block)) {
      // `toolUseResult` describes a single result; if a line has several, nobody can say which.
      const made = blockParts(block, results === 1 ? envelope.toolUseResult : undefined)
      parts.push(...made)
      const [result] = made
      if (envelope.speaker !== "human" || result?.kind !== "toolResult") continue
      parts.push(
        ...saidInResult(result, results === 1 ? envelope.toolUseResult : undefined, envelope.userFeedback),
      )
    }
  }
  return parts
}

/** Parts of an assistant message's `content`; `textKind` is the kind of its text. */
export function assistantParts(content: unknown, textKind: "text" | "apiError" | "notice"): Part[] {
  const parts: Part[] = []
  for (const block of blocksOf(content)) {
    const text = textOf(block)
    if (text !== undefined) {
      if (!isBlank(text)) parts.push({ kind: textKind, text })
    } else if (isObject(block)) {
      const thinking = block["type"] === "thinking" ? stringOf(block["thinking"]) : undefined
      // Newer models send only the signature, with empty text.
      if (thinking !== undefined && !isBlank(thinking)) parts.push({ kind: "thinking", text: thinking })
      else parts.push(...blockParts(block, undefined))
    }
  }
  return parts
}

/** The strings and text blocks of a `content`. */
export function textsOf(content: unknown): string[] {
  return blocksOf(content).flatMap((block) => {
    const text = textOf(block)
    return text === undefined || isBlank(text) ? [] : [text]
  })
}

/** Real messages have some dozens at most. Decoding and indexing 300,000 of them would take a hook seconds. */
const MOST_BLOCKS = 10_000

function blocksOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content.length > MOST_BLOCKS ? content.slice(0, MOST_BLOCKS) : content
  return typeof content === "string" || isObject(content) ? [content] : []
}

function textOf(block: unknown): string | undefined {
  if (typeof block === "string") return block
  if (!isObject(block) || (block["type"] !== "text" && block["type"] !== undefined)) return undefined
  return typeof block["text"] === "string" ? block["text"] : undefined
}

/** Parts of blocks that mean the same in both roles. */
function blockParts(block: JsonObject, toolUseResult: unknown): Part[] {
  const type = block["type"]
  if (type === "tool_use" || type === "server_tool_use" || type === "mcp_tool_use") {
    const name = stringOf(block["name"]) ?? ""
    return [{ kind: "toolUse", id: stringOf(block["id"]) ?? "", name, input: block["input"] }]
  }
  if (isResult(block)) return resultParts(block, toolUseResult)
  if (isMedia(block)) return [mediaPart(block)]
  if (type !== "resource_link" && type !== "resource") return []
  const text = pieceOf(block)
  return text === "" ? [] : [{ kind: "context", source: type, text }]
}

/** Includes results of tools that run at the API, such as `web_search_tool_result`. */
function isResult(block: JsonObject): boolean {
  const type = block["type"]
  return typeof type === "string" && type.endsWith("tool_result")
}

function resultParts(block: JsonObject, toolUseResult: unknown): Part[] {
  const isContent = typeof toolUseResult === "string" || Array.isArray(toolUseResult)
  const content = block["content"] ?? (isContent ? toolUseResult : undefined)
  const text = blocksOf(content).map(pieceOf).filter(Boolean).join("\n")
  const absent = block["content"] === undefined || block["content"] === null
  const isError = block["is_error"] === true || (absent && text.startsWith("Error"))
  const persistedTo = persistedPath(text) ?? stringOf(objectOf(toolUseResult)["persistedOutputPath"])
  const result: Part = {
    kind: "toolResult",
    id: stringOf(block["tool_use_id"]) ?? "",
    text,
    isError,
    ...(persistedTo === undefined ? {} : { persistedTo }),
  }
  const media = blocksOf(content).flatMap((item) =>
    isObject(item) && isMedia(item) ? [mediaPart(item)] : [],
  )
  return [result, ...media]
}

/** The readable words of one item in a tool result. */
function pieceOf(item: unknown): string {
  if (typeof item === "string") return item
  if (!isObject(item) || isMedia(item)) return ""
  const resource = objectOf(item["resource"])
  const isLink = item["type"] === "resource_link"
  const fields = [
    item["text"],
    // What a server names: a file of its own, by its address if its content is not in the result.
    resource["text"] ?? resource["uri"],
    ...(isLink ? [item["title"] ?? item["name"], item["uri"], item["description"]] : []),
    item["tool_name"],
    isLink ? undefined : item["title"],
    item["url"],
    item["stdout"],
    item["stderr"],
    item["error_code"],
  ]
  return fields.filter((field) => stringOf(field) !== undefined).join("\n")
}

/** What Claude Code says of an answer of a server that is too long. */
const TOO_LONG =
  /^Error: result \([^)\n]*\) exceeds maximum allowed tokens\.[^\n]*? saved to (\S+?)\.?(?:\s|$)/

function persistedPath(text: string): string | undefined {
  if (!text.startsWith(PERSISTED)) return TOO_LONG.exec(text)?.[1]
  const head = text.slice(0, 8192)
  const at = head.indexOf(SAVED_TO)
  if (at === -1) return undefined
  return stringOf(
    head
      .slice(at + SAVED_TO.length)
      .split(/\n|<\/persisted-output>/, 1)[0]
      ?.trim(),
  )
}

function mediaPart(block: JsonObject): Part {
  const { type, data } = mediaIn(block)
  return { kind: "media", mediaType: type ?? stringOf(block["type"]) ?? "", base64Length: data?.length ?? 0 }
}

/* Images, documents and sounds: which blocks are some, and their bytes, which records leave out. */

const MEDIA: readonly unknown[] = ["image", "document", "audio"]

const isMedia = (block: JsonObject): boolean =>
  MEDIA.includes(block["type"]) || stringOf(objectOf(block["resource"])["blob"]) !== undefined

/** A block's media type and base64: in a `source`, as the API has it, or as servers of tools write it. */
function mediaIn(block: JsonObject): { readonly type?: string; readonly data?: string } {
  const source = objectOf(block["source"])
  const resource = objectOf(block["resource"])
  const type = stringOf(source["media_type"]) ?? stringOf(block["mimeType"]) ?? stringOf(resource["mimeType"])
  const data = stringOf(source["data"]) ?? stringOf(block["data"]) ?? stringOf(resource["blob"])
  return { ...(type === undefined ? {} : { type }), ...(data === undefined ? {} : { data }) }
}

/** A limit to how deeply a line is searched: an image is in a message, or in a result in it. */
const DEPTH = 6
/** Words that lines with media have. Most lines have none, and may be long. */
const HINTS = ['"base64"', '"audio"', '"image"', '"blob"']

/** As base64, in the line's order. The same bytes may be there twice: in the message, and in the tool's own result. */
export function mediaData(line: string): string[] {
  if (!HINTS.some((hint) => line.includes(hint))) return []
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? [...within(value["message"], 0), ...within(value["data"], 0)] : []
  } catch {
    return []
  }
}

function* within(value: unknown, depth: number): Generator<string> {
  if (depth > DEPTH || typeof value !== "object" || value === null) return
  if (isObject(value) && isMedia(value)) {
    const { data } = mediaIn(value)
    if (data !== undefined) yield data
    return
  }
  for (const inner of Object.values(value)) yield* within(inner, depth + 1)
}

/* Claude Code's own summary of a compaction, in the transcript. */

/** A word that its line contains. */
export const COMPACTION_SUMMARY = '"isCompactSummary"'

export const isCompactionSummary = (line: JsonObject): boolean => line["isCompactSummary"] === true

/**
 * The first summary of the conversation itself.
 *
 * @param content whole lines, with perhaps part of one at the end
 */
export function compactionSummaryIn(content: Uint8Array): string {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const found = linesWith(bytes, COMPACTION_SUMMARY).find(
    ({ line }) => isCompactionSummary(line) && line["isSidechain"] !== true,
  )
  return textsOf(objectOf(found?.line["message"])["content"]).join("\n")
}

/* What Claude Code says of a file, beside the text for the model, when a tool has read or changed it. */

interface FileResult {
  /** All of the file just before it was changed; large files lack it. */
  readonly before: string | undefined
  /** All of the file that was read. */
  readonly content: string | undefined
  /** Whether the user changed in the dialog what the model wanted to write, so that nobody says what was written. */
  readonly isUserModified: boolean
  /** Whether a text has the lines that are told of the file after the change, in their places. */
  readonly fits: (text: string) => boolean
}

/**
 * @param line of a transcript, with one result
 * @returns undefined if it says nothing of the file at this path
 */
export function fileResultOf(line: JsonObject, path: string): FileResult | undefined {
  const told = objectOf(line["toolUseResult"])
  const file = objectOf(told["file"])
  if (withSlashes(stringOf(told["filePath"] ?? file["filePath"]) ?? "") !== withSlashes(path))
    return undefined
  const isWhole = file["startLine"] === 1 && file["numLines"] === file["totalLines"]
  const patch = Array.isArray(told["structuredPatch"]) ? told["structuredPatch"].filter(isObject) : []
  return {
    before: wholeText(told["originalFile"] ?? told["originalFileContents"]),
    content: isWhole ? wholeText(file["content"]) : undefined,
    isUserModified: told["userModified"] === true,
    fits: (text) => hasLines(text, patch),
  }
}

/** Patches are told as they are shown to the user: with two blanks for each tab at the beginning of a line. */
const asInPatch = (line: string): string => line.replace(/^\t+/, (tabs) => "  ".repeat(tabs.length))

function hasLines(text: string, patch: readonly JsonObject[]): boolean {
  const lines = text.split("\n")
  return patch.every(({ newStart, lines: told }) =>
    listedStrings(told)
      .filter((one) => /^[ +]/.test(one))
      .map((one) => one.slice(1))
      .every((one, n) => {
        const line = lines[Number(newStart) - 1 + n]
        return line !== undefined && (line === one || asInPatch(line) === asInPatch(one))
      }),
  )
}

/** A file may be empty. */
const wholeText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
