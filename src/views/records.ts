/**
 * Lines of transcripts, read from the vault, where secrets are filtered: one by one, as they are or decoded, or those of
 * which the place is known.
 */
import { recordsIn } from "../agents/agents.ts"
import { NEWLINE } from "../record/lines-with.ts"
import type { TranscriptRecord } from "../record/types.ts"
import { vaultFile } from "../vault/layout.ts"
import { CopyReaders, stretchesFrom } from "../vault/reader.ts"
import type { LinePlace } from "./queries/messages.ts"

export interface PlacedRecord {
  readonly record: TranscriptRecord
  /** Offset of its first byte in the transcript. */
  readonly offset: number
}

const utf8 = new TextDecoder()

interface PlacedLine {
  readonly line: string
  /** Offset of its first byte in the transcript. */
  readonly offset: number
}

/** @param from offset at which a line begins */
export function* linesFrom(file: string, from = 0): Generator<PlacedLine> {
  for (const { bytes, offset } of bytesOfLines(file, from)) yield { line: utf8.decode(bytes), offset }
}

function* bytesOfLines(file: string, from: number): Generator<{ bytes: Buffer; offset: number }> {
  let rest: Uint8Array = new Uint8Array()
  let offset = from
  for (const stretch of stretchesFrom(file, from)) {
    const content = stretch.content.subarray(Math.max(0, from - stretch.from))
    const bytes = rest.length === 0 ? asBuffer(content) : Buffer.concat([rest, content])
    let at = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, at)) {
      yield { bytes: bytes.subarray(at, end), offset: offset + at }
      at = end + 1
    }
    offset += at
    rest = Uint8Array.from(bytes.subarray(at))
  }
  if (rest.length > 0) yield { bytes: asBuffer(rest), offset }
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

/** @param from offset at which a line begins */
export function* recordsFrom(file: string, from = 0): Generator<PlacedRecord> {
  for (const { bytes, offset } of bytesOfLines(file, from))
    for (const one of recordsIn(bytes)) yield { record: one.record, offset: offset + one.from }
}

/** Longer lines, in bytes, are not worth unpacking. */
export const LONGEST_LINE = 64 << 10

/** Made once for all lines that are wanted, so that a frame is unpacked once. */
export class ArchivedLines {
  readonly #dataHome: string
  readonly #readers = new CopyReaders()

  constructor(dataHome: string) {
    this.#dataHome = dataHome
  }

  /** @returns `""` if it is missing or damaged */
  at({ copy, offset, length }: LinePlace): string {
    try {
      const line = this.#readers.of(vaultFile(this.#dataHome, copy)).readLine(offset, offset + length)
      return Buffer.from(line.buffer, line.byteOffset, line.length).toString()
    } catch {
      return ""
    }
  }

  [Symbol.dispose](): void {
    this.#readers.close()
  }
}
