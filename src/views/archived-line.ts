/** Lines of transcripts, read from the vault: where secrets are filtered. */

import { vaultFile } from "../vault/layout.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { LinePlace } from "./queries/messages.ts"

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
