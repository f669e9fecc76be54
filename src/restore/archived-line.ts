/** Lines of transcripts, read from the vault for a restore: where secrets are filtered. */

import { vaultFile } from "../vault/layout.ts"
import { CopyReaders } from "../vault/reader.ts"
import type { LinePlace } from "../views/queries/messages.ts"

/** Longer lines, in bytes, are not worth unpacking. */
export const LONGEST_LINE = 64 << 10

/** Made once for a restore, so that all its parts unpack a frame once. */
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
