/**
 * Reads files that are not ours: never more than asked for, never a pipe or device. A file that cannot be read counts
 * as missing.
 */
import { tryTo } from "../base/files.ts"
import { readExactly } from "./copy-file.ts"
import { withSource } from "./source-file.ts"

/** The text of a file of at most `most` bytes; undefined for any other. */
export function readSmall(path: string, most: number): string | undefined {
  const text = withFile(path, (fd, size) =>
    size > most ? undefined : asBuffer(readExactly(fd, 0, size)).toString(),
  )
  return text?.includes("\0") ? undefined : text
}

/** As many of these bytes as the file has. */
export const readPart = (path: string, from: number, length: number): Buffer | undefined =>
  withFile(path, (fd) => asBuffer(readExactly(fd, from, length)))

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

const withFile = <T>(path: string, read: (fd: number, size: number) => T): T | undefined =>
  tryTo(() => withSource(path, read))
