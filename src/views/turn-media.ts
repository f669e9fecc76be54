/** The images and documents of a turn, which are in the vault alone. */

import { mediaOfLine } from "../agents/decode.ts"
import type { Part } from "../record/types.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "./database.ts"
import { linesOfTurn, type WholeTurn } from "./turn.ts"

const utf8 = new TextDecoder()

/**
 * Base64 of each part that is media. A turn without any is not read a second time.
 *
 * @param turn some of its parts may be missing
 */
export function mediaOfTurn(
  db: Database,
  dataHome: string,
  turn: WholeTurn,
  readers: CopyReaders,
): Map<Part, string> {
  const found = new Map<Part, string>()
  const wanted = turn.messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "media"))
  if (wanted.length === 0) return found
  for (const line of linesOfTurn(db, dataHome, turn, readers)) {
    for (const data of mediaOfLine(utf8.decode(line))) {
      const at = wanted.findIndex(({ base64Length }) => base64Length === data.length)
      if (at >= 0) found.set(wanted.splice(at, 1)[0]!, data)
    }
  }
  return found
}
