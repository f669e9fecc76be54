/** What the vault already has of a session that another tool also recorded, so that nothing is stored twice. */

import { transcriptName } from "../agents/layouts.ts"
import { recordsFrom } from "../archive/records.ts"
import type { Part } from "../transcript/types.ts"
import { isImportedCopy, vaultFile } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import type { Item } from "./foreign-session.ts"

/** Copies of the host's transcripts, by session. */
export type Copies = ReadonlyMap<string, readonly string[]>

export function copiesBySession(dataHome: string): Copies {
  const found = new Map<string, string[]>()
  for (const { copy } of vaultFiles(dataHome)) {
    if (isImportedCopy(copy)) continue
    const file = vaultFile(dataHome, copy)
    const session = transcriptName(tailOf(file)?.header.path ?? "").session
    if (session !== undefined) found.set(session, [...(found.get(session) ?? []), file])
  }
  return found
}

/** Tells whether the copies already contain an item's text. */
export function isHeldIn(files: readonly string[]): (item: Item) => boolean {
  const words = new Set<bigint>()
  const calls = new Set<string>()
  for (const file of files) {
    for (const part of partsOf(file)) {
      if (part.kind === "toolUse") calls.add(`call ${part.id}`)
      else if (part.kind === "toolResult") calls.add(`result ${part.id}`)
      if ("text" in part) words.add(essence(part.text))
    }
  }
  return ({ kind, text, tool }) =>
    tool === undefined ? kind !== "title" && words.has(essence(text)) : calls.has(`${kind} ${tool.id}`)
}

/** Tools trim text, and one marks thinking. */
const essence = (text: string): bigint =>
  Bun.hash.xxHash64(
    text
      .replace(/^\[thinking\] /, "")
      .replace(/\s+/g, " ")
      .trim(),
    0n,
  )

/** Yields those before any damage: storing an item twice is better than losing it. */
function* partsOf(file: string): Generator<Part> {
  try {
    for (const { record } of recordsFrom(file)) yield* record.parts
  } catch {
    return
  }
}
