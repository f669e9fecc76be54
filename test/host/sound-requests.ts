/** What the API asks of every conversation, as its errors say it: a session that lacks it fails with each prompt. */
import { type Block, type Message, SIGNATURE } from "./mock-api.ts"

/** Letters of an image in base64. */
const LARGEST_IMAGE = 5 << 20

const blocksOf = ({ content }: Message): readonly Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content

const idsIn = (message: Message | undefined, type: string, key: string): string[] =>
  message === undefined
    ? []
    : blocksOf(message).flatMap((block) => (block.type === type ? [String(block[key])] : []))

/** What is wrong with a request; undefined if nothing is. */
export function unsound(messages: readonly Message[]): string | undefined {
  for (const [n, message] of messages.entries()) {
    const calls = idsIn(message, "tool_use", "id")
    const answers = idsIn(messages[n + 1], "tool_result", "tool_use_id")
    const unanswered = calls.find((id) => !answers.includes(id))
    if (unanswered !== undefined)
      return `messages.${n}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${unanswered}`
    const asked = idsIn(messages[n - 1], "tool_use", "id")
    const results = idsIn(message, "tool_result", "tool_use_id")
    const orphan = results.find((id) => !asked.includes(id))
    if (orphan !== undefined)
      return `messages.${n}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}`
    if (new Set(results).size < results.length)
      return `messages.${n}: each \`tool_use\` must have a single result`
    for (const [m, block] of blocksOf(message).entries()) {
      const why = unsoundBlock(block)
      if (why !== undefined) return `messages.${n}.content.${m}${why}`
    }
  }
  return undefined
}

function unsoundBlock(block: Block): string | undefined {
  if (block.type === "thinking")
    return block["signature"] === SIGNATURE ? undefined : ": Invalid `signature` in `thinking` block"
  if (block.type === "text") return block.text?.trim() ? undefined : ": text content blocks must be non-empty"
  if (block.type === "image") {
    const { data, media_type: type } = block["source"] as { data: string; media_type: string }
    if (data.length > LARGEST_IMAGE)
      return `.image.source.base64: image exceeds 5 MB maximum: ${data.length} bytes > ${LARGEST_IMAGE} bytes`
    const isPng = Buffer.from(data, "base64").subarray(1, 4).toString() === "PNG"
    return isPng && type === "image/png" ? undefined : ".image: Could not process image"
  }
  const within = block.type === "tool_result" ? block["content"] : undefined
  for (const one of Array.isArray(within) ? (within as Block[]) : []) {
    const why = unsoundBlock(one)
    if (why !== undefined) return `.tool_result.content${why}`
  }
  return undefined
}
