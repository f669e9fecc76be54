/**
 * Whether the last restore given to a session has reached its conversation, according to the vault and our own notes.
 */

import { contextsIn, outcomeIn } from "../claude/context-arrived.ts"
import { objectOf } from "../record/json.ts"
import { endOfLines, linesWith } from "../record/lines-with.ts"
import { vaultFile } from "../vault/layout.ts"
import { stretchesFrom } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { givenAgain, lastGiven } from "../views/queries/restores.ts"
import { currentTranscript } from "../views/transcript-rows.ts"
import type { DeliveryProof } from "./receipt.ts"

/** How many bytes after a restore are examined, as in hooks. */
const LOOKED_AT = 2 << 20

export interface LastRestore {
  readonly session: string
  readonly source: string
  /** When it was given, ISO 8601. */
  readonly time: string
  /** UTF-16 units. */
  readonly characters: number
  readonly proof: DeliveryProof
  /** When it was given again, at a prompt; null if it was not. */
  readonly again: string | null
}

/** @returns undefined for a session that was given nothing after a compaction or /clear */
export function lastRestore(db: Database, dataHome: string, session: string): LastRestore | undefined {
  const given = lastGiven(db, session)
  if (given === null) return undefined
  const { source, mark, time, text } = given
  const again = givenAgain(db, session, given)
  const since = Number(/^(?:at|late) (\d+)$/.exec(mark)?.[1] ?? 0)
  const content = archivedSince(db, dataHome, session, since)
  const proof = content === undefined ? "untold" : proofIn(content, given.time, again !== null)
  const characters = text.length
  return { session, source, time: isoOf(time), characters, proof, again: again && isoOf(again.time) }
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

function proofIn(content: Buffer, given: number, isAgain: boolean): DeliveryProof {
  const outcome = outcomeIn(content, given)
  if (outcome === "arrived") return hasFromStart(content) ? "arrived" : "arrived-later"
  if (outcome === "unknown") return "untold"
  // When the restore is given again, its line comes after the prompt's own.
  return outcome === "lost" && !isAgain ? "lost" : "open"
}

/** Whether the text is there as context added at the session's start. */
function hasFromStart(content: Buffer): boolean {
  return linesWith(content, '"hook_additional_context"').some(
    ({ line }) => objectOf(line["attachment"])["hookEvent"] === "SessionStart" && contextsIn(line).length > 0,
  )
}

/** Whole lines; undefined when the session is not in the vault. */
function archivedSince(db: Database, dataHome: string, session: string, since: number): Buffer | undefined {
  const row = currentTranscript(db, session)
  if (row === undefined) return undefined
  const parts: Uint8Array[] = []
  let size = 0
  for (const { from, content } of stretchesFrom(vaultFile(dataHome, row.copy), since)) {
    const part = content.subarray(Math.max(0, since - from))
    parts.push(part)
    size += part.length
    if (size >= LOOKED_AT) break
  }
  const content = Buffer.concat(parts).subarray(0, LOOKED_AT + 1)
  return content.subarray(0, endOfLines(content))
}
