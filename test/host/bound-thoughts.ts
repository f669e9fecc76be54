/**
 * What newer models ask of a conversation, as their API documents it: the signature of a thought covers all that
 * precedes it, and a thought that is sent after anything else is refused. Where the cache's marks are does not matter.
 */
import type { Block, Message } from "./mock-api.ts"

const blocksOf = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap(({ role, content }) => {
    const blocks: readonly Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content
    return blocks.map((block) => JSON.stringify([role, { ...block, cache_control: undefined }]))
  })

const OURS = "bound-"

const over = (blocks: readonly string[]): string =>
  Buffer.from(`${OURS}${Bun.hash.xxHash64(blocks.join("\n"))}`).toString("base64")

/** The signature of what is thought after these messages. */
export const signed = (messages: readonly Message[]): string => over(blocksOf(messages))

/** What is wrong with a request; undefined if nothing is. */
export function misplacedThought(messages: readonly Message[]): string | undefined {
  const before: string[] = []
  for (const [n, message] of messages.entries()) {
    for (const [m, block] of (typeof message.content === "string" ? [] : message.content).entries()) {
      const signature = block["signature"]
      const isOurs =
        typeof signature === "string" && Buffer.from(signature, "base64").toString().startsWith(OURS)
      if (block.type === "thinking" && isOurs && signature !== over(before))
        return `messages.${n}.content.${m}: this \`thinking\` block is bound to a different conversation`
      before.push(...blocksOf([{ role: message.role, content: [block] }]))
    }
    if (typeof message.content === "string") before.push(...blocksOf([message]))
  }
  return undefined
}

/** How often a request did not begin with all of the one before, so that the API's cache was of no use. */
export function prefixChanges(
  requests: readonly { readonly body: { readonly messages?: readonly Message[] } }[],
): number {
  const all = requests.map(({ body }) => blocksOf(body.messages ?? []))
  return all.filter((blocks, n) => n > 0 && all[n - 1]!.some((block, m) => block !== blocks[m])).length
}
