/** What a zstd frame says of its content, before it is unpacked. Pure. */
const ZSTD_MAGIC = 0xfd2fb528

/**
 * What one whole zstd frame says of the length of its content (RFC 8878, section 3.1.1); undefined if it does not say it,
 * or if the bytes are anything but one frame. The decompressor takes no more memory than that for such a frame; for
 * others it goes on until there is none.
 */
export function contentSize(frame: Uint8Array): number | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  if (frame.length < 6 || view.getUint32(0, true) !== ZSTD_MAGIC) return undefined
  const descriptor = frame[4]!
  const isSingle = (descriptor & 0b10_0000) !== 0
  const width = descriptor >> 6 === 0 ? Number(isSingle) : 1 << (descriptor >> 6)
  let at = isSingle ? 5 : 6
  // A dictionary, or what no version has.
  if ((descriptor & 0b1011) !== 0 || width === 0 || at + width > frame.length) return undefined
  const size =
    width === 1
      ? frame[at]!
      : width === 2
        ? view.getUint16(at, true) + 256
        : width === 4
          ? view.getUint32(at, true)
          : Number(view.getBigUint64(at, true))
  at += width
  for (let isLast = false; !isLast; ) {
    if (at + 3 > frame.length) return undefined
    const header = frame[at]! | (frame[at + 1]! << 8) | (frame[at + 2]! << 16)
    isLast = (header & 1) === 1
    // Kind 1 is a single byte to be repeated.
    at += 3 + ((header >> 1) % 4 === 1 ? 1 : header >> 3)
  }
  if ((descriptor & 0b100) !== 0) at += 4
  return at === frame.length ? size : undefined
}
