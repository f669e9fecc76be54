/** What zstd frames say of their content, before they are unpacked. Pure. */
const ZSTD_MAGIC = 0xfd2fb528
/** Sixteen magic numbers of frames that are passed over. */
const SKIPPED_MAGIC = 0x184d2a50
/** Bytes of content in a block: at most. */
const BLOCK = 1 << 17

/**
 * What one whole zstd frame says of the length of its content (RFC 8878, section 3.1.1); undefined if it does not say it,
 * or if the bytes are anything but one frame. The decompressor takes no more memory than that for such a frame; for
 * others it goes on until there is none.
 */
export function contentSize(frame: Uint8Array): number | undefined {
  const found = frameAt(frame, 0)
  return found?.end === frame.length ? found.told : undefined
}

/**
 * How long the content of a file of zstd frames is at most: as long as its frames tell, or else as its blocks can be.
 *
 * @returns undefined if it is anything but whole frames
 */
export function mostContent(bytes: Uint8Array): number | undefined {
  let most = 0
  for (let at = 0; at < bytes.length; ) {
    const found = frameAt(bytes, at)
    if (found === undefined) return undefined
    most += found.told ?? found.most
    at = found.end
  }
  return most
}

interface FoundFrame {
  /** Bytes of content, if it tells. */
  readonly told: number | undefined
  /** What its blocks can hold. */
  readonly most: number
  readonly end: number
}

function frameAt(bytes: Uint8Array, start: number): FoundFrame | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (start + 6 > bytes.length) return undefined
  const magic = view.getUint32(start, true)
  if ((magic & ~15) >>> 0 === SKIPPED_MAGIC) {
    const end =
      start + 8 <= bytes.length ? start + 8 + view.getUint32(start + 4, true) : Number.POSITIVE_INFINITY
    return end > bytes.length ? undefined : { told: 0, most: 0, end }
  }
  if (magic !== ZSTD_MAGIC) return undefined
  const descriptor = bytes[start + 4]!
  const isSingle = (descriptor & 0b10_0000) !== 0
  const width = descriptor >> 6 === 0 ? Number(isSingle) : 1 << (descriptor >> 6)
  let at = start + (isSingle ? 5 : 6)
  // A dictionary, or what no version has.
  if ((descriptor & 0b1011) !== 0 || at + width > bytes.length) return undefined
  const told = sizeAt(view, at, width)
  at += width
  let most = 0
  for (let isLast = false; !isLast; ) {
    if (at + 3 > bytes.length) return undefined
    const header = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
    isLast = (header & 1) === 1
    const kind = (header >> 1) % 4
    // 0: as it is; 1: a single byte to be repeated; else compressed.
    most += kind < 2 ? header >> 3 : BLOCK
    at += 3 + (kind === 1 ? 1 : header >> 3)
  }
  if ((descriptor & 0b100) !== 0) at += 4
  return at > bytes.length ? undefined : { told, most, end: at }
}

/** @param width in bytes */
function sizeAt(view: DataView, at: number, width: number): number | undefined {
  if (width === 0) return undefined
  if (width === 1) return view.getUint8(at)
  if (width === 2) return view.getUint16(at, true) + 256
  return width === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true))
}
