/** Many small texts as fewer bytes to write. */

/** UTF-16 units of text to collect before writing. */
const BLOCK = 1 << 18

export function* inBlocks(texts: Iterable<string>): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  let block = ""
  for (const text of texts) {
    block += text
    if (block.length < BLOCK) continue
    yield encoder.encode(block)
    block = ""
  }
  if (block !== "") yield encoder.encode(block)
}
