/** Takes a session that its agent keeps in a database, or as one document. */
import { takeMade } from "../job/import/made.ts"
import type { Taken } from "../vault/capture-transcript.ts"
import { vaultFile } from "../vault/layout.ts"
import { stretchesFrom } from "../vault/reader.ts"
import type { HookCall } from "./call.ts"

/** Bytes of lines that are read again to see what is in them. */
const MOST = 4 << 20

export function takeStored({ settings: { paths }, now }: HookCall, path: string): Taken {
  const one = takeMade(paths, path, { now })
  const { archived, taken } = one.captured
  // What hooks note as the place of an event comes before the lines that are about it.
  const size = archived - taken
  const fresh =
    taken === 0 || taken > MOST ? [] : [...stretchesFrom(vaultFile(paths.dataHome, one.copy), size)]
  return { ...one, captured: { ...one.captured, size }, fresh }
}
