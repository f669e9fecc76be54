/** Finds a text in any file below a folder, including compressed ones. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"

const HEADER_NOTE = Buffer.from([0x5c, 0x2a, 0x4d, 0x18])

/** Paths of the files, including temporary ones and those of killed processes. */
export function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => holds(readFileSync(file), text))
}

function holds(bytes: Buffer, text: string): boolean {
  if (bytes.includes(text)) return true
  if (!bytes.subarray(0, 4).equals(HEADER_NOTE)) return false
  return zstdDecompressSync(bytes).includes(text)
}
