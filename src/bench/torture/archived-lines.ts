/** What the vault and the spool hold, read as anyone could: whole files, decompressed, without our own reader. */
import { readdirSync, readFileSync } from "node:fs"
import { tryTo } from "../../util/files.ts"
import { join } from "../../util/path.ts"
import { linesOf } from "./growing-session.ts"

/** Copies of one transcript: its current content, and what it was before the host rewrote it. */
export interface ArchivedCopies {
  readonly current: Uint8Array
  readonly former: readonly Uint8Array[]
}

/** @param folder a data folder or a folder of the spool */
export function archivedLines(folder: string, session: string): ArchivedCopies {
  let current: Uint8Array = new Uint8Array(0)
  const former: Uint8Array[] = []
  for (const file of filesBelow(join(folder, "vault"))) {
    const name = file.slice(file.lastIndexOf("/") + 1)
    if (name === `${session}.jsonl.zst`) current = decompressed(file)
    else if (name.startsWith(`${session}.~`) && name.endsWith(".zst")) former.push(decompressed(file))
  }
  return { current, former }
}

/** Every line in any copy. */
export function allLines({ current, former }: ArchivedCopies): Set<string> {
  return new Set([...former, current].flatMap(linesOf))
}

/** Empty when there is no frame yet, or only part of one. */
const decompressed = (file: string): Uint8Array =>
  tryTo(() => Bun.zstdDecompressSync(readFileSync(file))) ?? new Uint8Array(0)

const filesBelow = (folder: string): string[] =>
  tryTo(() => (readdirSync(folder, { recursive: true }) as string[]).map((name) => join(folder, name))) ?? []
