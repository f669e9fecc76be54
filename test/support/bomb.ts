/** Small zstd frames with much in them, as nobody's compressor writes them: blocks that say "so many times this byte". */

/** Bytes of the largest block. */
export const BLOCK = 1 << 17

/**
 * @param blocks of 128 KB of spaces each, in four bytes
 * @param told the length of the content that the frame tells; undefined: it tells none
 * @param hasNoise whether there is one more block, which is not compressed
 */
export function bomb(blocks: number, told?: number, hasNoise = false): Uint8Array {
  const head = new Uint8Array(told === undefined ? 6 : 14)
  const view = new DataView(head.buffer)
  view.setUint32(0, 0xfd2fb528, true)
  // Its length takes eight bytes, or none; then the window: 8 MB.
  head[4] = told === undefined ? 0 : 0b1100_0000
  head[5] = 13 << 3
  if (told !== undefined) view.setBigUint64(6, BigInt(told), true)
  const body = new Uint8Array(blocks * 4)
  for (let n = 0; n < blocks; n++) {
    const header = (BLOCK << 3) | (1 << 1) | Number(n === blocks - 1)
    body.set([header & 255, (header >> 8) & 255, header >> 16, 0x20], n * 4)
  }
  if (!hasNoise) return Buffer.concat([head, body])
  const header = BLOCK << 3
  const noise = crypto.getRandomValues(new Uint8Array(BLOCK / 2))
  return Buffer.concat([
    head,
    Uint8Array.of(header & 255, (header >> 8) & 255, header >> 16),
    noise,
    noise,
    body,
  ])
}
