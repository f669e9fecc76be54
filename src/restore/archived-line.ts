/** One line of a transcript, read from the vault for a restore: where secrets are filtered. */
import type { LinePlace } from "../archive/queries/messages.ts"
import { vaultFile } from "../vault/layout.ts"
import type { CopyReaders } from "../vault/reader.ts"

/** Longer lines, in bytes, are not worth unpacking. */
export const LONGEST_LINE = 64 << 10

/** @returns `""` if it is missing or damaged */
export function archivedLine(
  readers: CopyReaders,
  dataHome: string,
  { copy, offset, length }: LinePlace,
): string {
  try {
    const line = readers.of(vaultFile(dataHome, copy)).readLine(offset, offset + length)
    return Buffer.from(line.buffer, line.byteOffset, line.length).toString()
  } catch {
    return ""
  }
}
