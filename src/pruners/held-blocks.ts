/**
 * Which blocks of a session's conversation the vault holds, and the handles that open them: what is pruned must be found
 * again. Read from the transcripts themselves, since the views cut texts. A fork's transcript begins with lines of its
 * origin, so these are held as well.
 */

import { decodeLine } from "../agents/decode.ts"
import type { Database } from "../archive/database.ts"
import { HANDLE_PREFIX } from "../archive/handle-prefix.ts"
import { identify } from "../archive/identity.ts"
import { followedCopies, handleByKey, type TurnPlace, turnPlaces } from "../archive/queries/turn-places.ts"
import { linesFrom } from "../archive/records.ts"
import { blocksIn, type HandleOf } from "../prune/prunable.ts"
import { FILLER } from "../secrets/fill.ts"
import { isObject, type JsonObject, objectOf } from "../transcript/json.ts"
import { parseJson } from "../util/parse-json.ts"
import { vaultFile } from "../vault/layout.ts"

export interface HeldBlocks {
  /** Reads what was archived, and has come into the views, since the last call. */
  refresh(db: Database): void
  /** As far as it was read. */
  readonly handleOf: HandleOf
}

/** Where something was filled, there are at least so many in a row. */
const FILLED = String.fromCharCode(FILLER).repeat(4)

/** @param session those of its subagents count as its own */
export function heldBlocks(dataHome: string, session: string): HeldBlocks {
  const handles = new Map<string, string>()
  /** Texts in which something was filled, by kind and length. */
  const filled = new Map<string, { readonly text: string; readonly handle: string }[]>()
  /** Offset behind the last line that was read, by the id of the copy. */
  const read = new Map<string, number>()

  function hold(name: BlockName, handle: string): void {
    const key = keyOf(name)
    if (handles.has(key)) return
    handles.set(key, handle)
    if (!name.text.includes(FILLED)) return
    const alike = filled.get(shapeOf(name)) ?? []
    filled.set(shapeOf(name), [...alike, { text: name.text, handle }])
  }

  return {
    refresh(db) {
      for (const { id, copy, copyId, indexed } of followedCopies(db, session)) {
        const from = read.get(copyId) ?? 0
        if (from >= indexed) continue
        const handleAt = turnAt(turnPlaces(db, id))
        let handle: string | undefined
        for (const { line, offset } of linesFrom(vaultFile(dataHome, copy), from)) {
          if (offset >= indexed) break
          const message = objectOf(objectOf(parseJson(line))["message"])
          const { role } = message
          if (role !== "user" && role !== "assistant") continue
          // The views have no row for a line that says nothing, like a thought of which only the signature is sent.
          handle = handleAt(offset) ?? handleOfCopied(db, line) ?? handle
          if (handle === undefined) continue
          for (const block of blocksIn(message["content"])) {
            const name = blockName(block, role)
            if (name !== undefined) hold(name, HANDLE_PREFIX + handle)
          }
        }
        read.set(copyId, indexed)
      }
    },
    handleOf(block, role) {
      const name = blockName(block, role)
      if (name === undefined) return undefined
      const exact = handles.get(keyOf(name))
      if (exact !== undefined) return exact
      return filled.get(shapeOf(name))?.find(({ text }) => isFilled(text, name.text))?.handle
    },
  }
}

/** What tells a block from all others of its kind. */
interface BlockName {
  readonly kind: string
  readonly text: string
}

/** undefined for what is never pruned. */
function blockName(block: unknown, role: "user" | "assistant"): BlockName | undefined {
  if (!isObject(block)) return undefined
  const { type } = block
  if (type === "text") return named(`${role} text`, block["text"])
  // Clients shorten what tools returned by rules of their own; its id remains.
  if (role === "user") return type === "tool_result" ? named("result", block["tool_use_id"]) : undefined
  // Of some models' thoughts, only the signature is sent.
  if (type === "thinking") return named("thinking", block["thinking"]) ?? named("signed", block["signature"])
  return type === "redacted_thinking" ? named("redacted", block["data"]) : undefined
}

const named = (kind: string, text: unknown): BlockName | undefined =>
  typeof text === "string" && text !== "" ? { kind, text } : undefined

const shapeOf = ({ kind, text }: BlockName): string => `${kind} ${text.length}`

const keyOf = (name: BlockName): string => `${shapeOf(name)} ${Bun.hash.xxHash64(name.text)}`

/** Names a block as `handleOf` tells it from others; `""` for one that is never pruned. */
export function blockKey(block: JsonObject, role: "user" | "assistant"): string {
  const name = blockName(block, role)
  return name === undefined ? "" : keyOf(name)
}

/** Whether the vault's text is this one, but for what was filled. */
function isFilled(inVault: string, text: string): boolean {
  for (let n = 0; n < text.length; n++) {
    const unit = inVault.charCodeAt(n)
    if (unit !== text.charCodeAt(n) && unit !== FILLER) return false
  }
  return true
}

/** For offsets that are asked for in rising order. */
function turnAt(places: readonly TurnPlace[]): (offset: number) => string | undefined {
  let n = 0
  return (offset) => {
    while (n < places.length && places[n]!.last <= offset) n++
    const place = places[n]
    return place !== undefined && place.first <= offset ? place.handle : undefined
  }
}

/** The handle of a line that a fork has copied. */
function handleOfCopied(db: Database, line: string): string | undefined {
  const record = decodeLine(line)
  return handleByKey(db, identify(record, record.parts, "", false).key)
}
