/**
 * The vault's file format: a sequence of standard zstd frames (RFC 8878), so that `zstdcat` prints the transcript.
 *
 *   header · (data frame · trailer)*
 *
 * Header and trailers are skippable frames, which every zstd decoder passes over. A trailer follows the data frame it
 * describes and has a fixed size. So the last bytes of a file, the cursor, tell how far its transcript is archived,
 * without a database.
 */

const SKIPPABLE_MAGIC = 0x184d2a5c
const MAGIC = 0x42585443 // "CTXB", little endian
const FORMAT = 1
const KIND_HEADER = 1
const KIND_RANGE = 2

const PAYLOAD_SIZE = 96
/** Bytes of a trailer, including its frame header. */
export const TRAILER_SIZE = 8 + PAYLOAD_SIZE
/** Bytes before the cursor that are hashed to notice a rewritten transcript. */
export const TAIL_WINDOW = 256
/** Level 3 takes about 3 ms per MB. In a hook, higher levels cost more than they save. */
const LEVEL = 3
/**
 * Level for frames below 64 KB, as hooks write them. Level 3 would cost 0.2 ms more and save 3 % of 20 kB, and the job
 * merges small frames later anyway.
 */
const SMALL = 1 << 16
const SMALL_LEVEL = 1

/** What a trailer says about the data frame before it. Offsets and lengths are in bytes. */
export interface Trailer {
  /** Offset in the transcript of the frame's first byte. */
  readonly from: number
  /** Offset after its last byte. */
  readonly to: number
  readonly frameLength: number
  /** inode of the transcript when it was read. */
  readonly inode: bigint
  /** XXH64 of the transcript's last TAIL_WINDOW bytes before `to`. */
  readonly tailHash: bigint
  readonly sha256: Uint8Array
  /** When it was archived, in ms since the epoch. */
  readonly time: number
  /** Number of the rules that filtered secrets from the frame; 0 if none did. */
  readonly rules: number
  /** Number of records after the frame that a `<private>` in or before it hides. */
  readonly hidden: number
}

export interface VaultHeader {
  /** Random id of this copy; a rewritten transcript gets a new one. */
  readonly id: string
  /** Where Claude Code keeps the transcript. */
  readonly path: string
  /** When the copy was begun, in ms since the epoch. */
  readonly created: number
  /** Where a piece in the spool begins. A copy in the vault begins at 0 and has none. */
  readonly base?: Base
}

export interface Base {
  /** Offset in the transcript. */
  readonly to: number
  /** XXH64 of the last TAIL_WINDOW bytes before it, in hexadecimal digits. */
  readonly tailHash: string
  /** Number of records after it that an earlier `<private>` hides. */
  readonly hidden: number
}

// Not CryptoHasher, whose first use takes the engine 0.1 ms longer.
export const sha256 = (bytes: Uint8Array): Uint8Array => Bun.SHA256.hash(bytes) as Uint8Array

export const xxh64 = (bytes: Uint8Array): bigint => Bun.hash.xxHash64(bytes, 0n)

/**
 * One zstd frame with a content checksum.
 *
 * Bun's one-shot compressor writes frames without a checksum, and `node:zlib`, which can write it, costs 3 ms at start.
 * So the flag (bit 2 of the frame header descriptor, RFC 8878 §3.1.1.1.1) and the checksum (the low 32 bits of XXH64 of
 * the content, §3.1.1) are added here.
 */
export function dataFrame(
  content: Uint8Array,
  level = content.length < SMALL ? SMALL_LEVEL : LEVEL,
): Uint8Array {
  const plain = Bun.zstdCompressSync(content, { level })
  const frame = new Uint8Array(plain.length + 4)
  frame.set(plain)
  frame[4] = plain[4]! | 0b100
  new DataView(frame.buffer).setUint32(plain.length, Number(xxh64(content) & 0xffffffffn), true)
  return frame
}

/** Most hooks read no frame. */
const sizes = (): typeof import("./frame-size.ts") => require("./frame-size.ts")

/**
 * The content of a data frame.
 *
 * @param size bytes that it must have: a frame that says something else is not unpacked
 * @throws if it is damaged
 */
export function frameContent(frame: Uint8Array, size?: number): Uint8Array {
  if (size !== undefined && sizes().contentSize(frame) !== size) throw new Error("another size")
  return Bun.zstdDecompressSync(frame)
}

/** What `dataFrame` writes for 64 KB and more: 4 bytes of content size, no window, a checksum (RFC 8878 §3.1.1.1). */
const LARGE = 0b1010_0100
const LARGE_HEADER = 9
/** Bytes of content in each block but the last. The compressor may cut elsewhere where the kind of content changes. */
const BLOCK = 1 << 17
/** Above this share of a frame, the gain is smaller than the loss in frames whose blocks are cut otherwise. */
const MOST_OF_IT = 2 / 3

/**
 * At least the first `length` bytes of a data frame's content. Cuts the frame after one of its blocks, in place, which
 * makes it a valid shorter frame. The result is unverified, because the checksum covers the whole content.
 *
 * @returns undefined if that saves nothing or the frame is laid out differently; the frame is then unchanged
 */
export function contentStart(frame: Uint8Array, length: number): Uint8Array | undefined {
  if (frame.length < LARGE_HEADER || frame[4] !== LARGE) return undefined
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length)
  const size = view.getUint32(5, true)
  const blocks = Math.ceil(length / BLOCK)
  if (blocks * BLOCK > size * MOST_OF_IT) return undefined
  let last = LARGE_HEADER
  let end = LARGE_HEADER
  for (let n = 0; n < blocks; n++) {
    last = end
    if (last + 3 > frame.length) return undefined
    const header = frame[last]! | (frame[last + 1]! << 8) | (frame[last + 2]! << 16)
    // Kind 1 is a single byte to be repeated.
    end += 3 + ((header >> 1) % 4 === 1 ? 1 : header >> 3)
  }
  const header = frame[last]!
  frame[4] = LARGE & ~0b100
  frame[last] = header | 1
  view.setUint32(5, blocks * BLOCK, true)
  try {
    return Bun.zstdDecompressSync(frame.subarray(0, end))
  } catch {
    frame[4] = LARGE
    frame[last] = header
    view.setUint32(5, size, true)
    return undefined
  }
}

/** The bytes of a trailer, and a view of them. */
function skippable(payloadSize: number): { bytes: Uint8Array; view: DataView } {
  const bytes = new Uint8Array(8 + payloadSize)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, SKIPPABLE_MAGIC, true)
  view.setUint32(4, payloadSize, true)
  view.setUint32(8, MAGIC, true)
  view.setUint8(12, FORMAT)
  return { bytes, view }
}

export function encodeTrailer(trailer: Trailer): Uint8Array {
  const { bytes, view } = skippable(PAYLOAD_SIZE)
  view.setUint8(13, KIND_RANGE)
  view.setUint8(14, trailer.rules)
  view.setUint8(15, trailer.hidden)
  view.setBigUint64(16, BigInt(trailer.from), true)
  view.setBigUint64(24, BigInt(trailer.to), true)
  view.setUint32(32, trailer.frameLength, true)
  view.setBigUint64(40, trailer.inode, true)
  view.setBigUint64(48, trailer.tailHash, true)
  bytes.set(trailer.sha256, 56)
  view.setBigUint64(88, BigInt(trailer.time), true)
  view.setBigUint64(96, xxh64(bytes.subarray(8, 96)), true)
  return bytes
}

/** Decodes a trailer from exactly TRAILER_SIZE bytes; undefined if they are anything else. */
export function decodeTrailer(bytes: Uint8Array): Trailer | undefined {
  if (bytes.length !== TRAILER_SIZE) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, TRAILER_SIZE)
  if (view.getUint32(0, true) !== SKIPPABLE_MAGIC || view.getUint32(4, true) !== PAYLOAD_SIZE)
    return undefined
  if (view.getUint32(8, true) !== MAGIC || view.getUint8(12) !== FORMAT) return undefined
  if (view.getUint8(13) !== KIND_RANGE) return undefined
  if (view.getBigUint64(96, true) !== xxh64(bytes.subarray(8, 96))) return undefined
  return {
    from: Number(view.getBigUint64(16, true)),
    to: Number(view.getBigUint64(24, true)),
    frameLength: view.getUint32(32, true),
    inode: view.getBigUint64(40, true),
    tailHash: view.getBigUint64(48, true),
    sha256: bytes.slice(56, 88),
    time: Number(view.getBigUint64(88, true)),
    rules: view.getUint8(14),
    hidden: view.getUint8(15),
  }
}

export function encodeHeader(header: VaultHeader): Uint8Array {
  const json = Buffer.from(JSON.stringify(header))
  const { bytes, view } = skippable(8 + json.length)
  view.setUint8(13, KIND_HEADER)
  bytes.set(json, 16)
  return bytes
}

/** The header at the start of `bytes` and its length in the file, or undefined. */
export function decodeHeader(bytes: Uint8Array): { header: VaultHeader; length: number } | undefined {
  if (bytes.length < 16) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getUint32(0, true) !== SKIPPABLE_MAGIC || view.getUint32(8, true) !== MAGIC) return undefined
  const length = 8 + view.getUint32(4, true)
  if (view.getUint8(12) !== FORMAT || view.getUint8(13) !== KIND_HEADER || length > bytes.length)
    return undefined
  try {
    const header = JSON.parse(
      Buffer.from(bytes.buffer, bytes.byteOffset + 16, length - 16).toString("utf8"),
    ) as VaultHeader
    return typeof header.id === "string" && typeof header.path === "string" ? { header, length } : undefined
  } catch {
    return undefined
  }
}

/** Whether a file of `size` bytes that begins with `start` was cut off while its header was being written. */
export function isHalfHeader(start: Uint8Array, size: number): boolean {
  if (start.length < 8) return true
  const view = new DataView(start.buffer, start.byteOffset, start.length)
  return view.getUint32(0, true) === SKIPPABLE_MAGIC && 8 + view.getUint32(4, true) > size
}

/** The bytes with which every trailer begins, for finding the last one. Made on demand, as few starts need them. */
export function trailerPrefix(): Uint8Array {
  const { bytes, view } = skippable(PAYLOAD_SIZE)
  view.setUint8(13, KIND_RANGE)
  return bytes.slice(0, 14)
}
