/** Takes a session that its agent keeps in a database, or as one document. */

import { tryTo } from "../base/files.ts"
import { takeMade } from "../job/import/made.ts"
import { vaultFile } from "../vault/layout.ts"
import { CopyReader, stretchesFrom } from "../vault/reader.ts"
import type { Added, HookCall } from "./call.ts"

/** Bytes of lines that are read again to see what is in them. */
const MOST = 4 << 20

export function taken({ settings: { paths }, now, path, taken: before, taking }: HookCall): Added {
  const one = takeMade(paths, path!, { now, deadline: taking.deadline })
  const { archived, taken: added } = one.captured
  // What hooks note as the place of an event comes before the lines that are about it.
  const size = archived - added
  const fresh =
    added === 0 || added > MOST ? [] : [...stretchesFrom(vaultFile(paths.dataHome, one.copy), size)]
  const made = (from: number, length: number): Buffer | undefined =>
    tryTo(() => partOf(vaultFile(paths.dataHome, one.copy), from, length))
  return { taken: [...before, { ...one, captured: { ...one.captured, size }, fresh }], made }
}

function partOf(copy: string, from: number, length: number): Buffer {
  const reader = new CopyReader(copy)
  try {
    const { buffer, byteOffset, byteLength } = reader.read(from, Math.min(reader.size, from + length))
    return Buffer.from(buffer, byteOffset, byteLength)
  } finally {
    reader.close()
  }
}
