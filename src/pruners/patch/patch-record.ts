/** What is noted of a patch beside the program: what was there, and what is there now. */
import { rmSync } from "node:fs"
import { objectOf, stringOf } from "../../transcript/json.ts"
import { hashOf, readBytes, removeLeftovers } from "../../util/edited-file.ts"
import { tryTo } from "../../util/files.ts"
import { parseJson } from "../../util/parse-json.ts"

export interface PatchRecord {
  /** SHA-256 of the program before and after. */
  readonly original: string
  readonly patched: string
  /** The program that is asked. */
  readonly binary: string
  /** SHA-256 of the function that was inserted. */
  readonly inserted: string
  /** Of Claude Code. */
  readonly version: string
}

export const backupFile = (file: string): string => `${file}.backup`
export const recordFile = (file: string): string => `${file}.ctxbridge.json`

export function readPatchRecord(file: string): PatchRecord | undefined {
  const bytes = tryTo(() => readBytes(recordFile(file)))
  const noted = objectOf(parseJson(new TextDecoder().decode(bytes)))
  const text = (name: keyof PatchRecord): string => stringOf(noted[name]) ?? ""
  const record = {
    original: text("original"),
    patched: text("patched"),
    binary: text("binary"),
    inserted: text("inserted"),
    version: text("version"),
  }
  return record.original === "" || record.patched === "" ? undefined : record
}

/** The program before the patch; undefined if that is not what the backup holds. */
export function readBackup(file: string, { original }: PatchRecord): Uint8Array | undefined {
  const bytes = tryTo(() => readBytes(backupFile(file)))
  return bytes !== undefined && hashOf(bytes) === original ? bytes : undefined
}

/** The backup first: without a record, nobody would know whose it is. */
export function dropPatchRecord(file: string, record: PatchRecord): void {
  if (readBackup(file, record) !== undefined) rmSync(backupFile(file), { force: true })
  rmSync(recordFile(file), { force: true })
  // What was being written when a patch was killed.
  for (const path of [file, backupFile(file), recordFile(file)]) removeLeftovers(path)
}
