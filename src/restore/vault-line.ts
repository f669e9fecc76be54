/** A line of a transcript from the vault, where secrets are filtered. */
import type { LinePlace } from "../archive/queries/messages.ts"
import { vaultFile } from "../vault/layout.ts"
import type { CopyReaders } from "../vault/reader.ts"

/** @returns `""` if it is missing or damaged */
export function vaultLine(
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
