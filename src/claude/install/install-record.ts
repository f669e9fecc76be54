/**
 * What an install remembers in `<dataHome>/install/`, so that an uninstall leaves no trace: for each settings file, the
 * bytes that were there before us, the folders we created, and the hash of what we wrote.
 */
import { chmodSync, rmdirSync, rmSync } from "node:fs"
import { decode, encode, hashOf, makeFolders, readBytes, replaceFile } from "../../util/edited-file.ts"
import { codeOf, isMissing } from "../../util/errors.ts"
import { join } from "../../util/path.ts"

export interface InstallRecord {
  /** SHA-256 of the settings as we wrote them. */
  readonly wrote: string
  /** SHA-256 of the settings without us, which also names their backup; `absent` when there was no file. */
  readonly original: string
  /** Folders that we created for the file, outermost first. */
  readonly folders: readonly string[]
}

type Records = Record<string, InstallRecord>

/** The record for `target`. A damaged manifest counts as none, and the uninstall then only cuts out what is ours. */
export function readRecord(dataHome: string, target: string): InstallRecord | undefined {
  const records = readRecords(dataHome)
  return Object.hasOwn(records, target) ? records[target] : undefined
}

/** The files that contain something of ours, according to our records. */
export const recordedTargets = (dataHome: string): string[] => Object.keys(readRecords(dataHome))

/** The settings before us; `absent` if there were none, `undefined` if the backup is lost or damaged. */
export function readOriginal(dataHome: string, record: InstallRecord): Uint8Array | "absent" | undefined {
  if (record.original === "absent") return "absent"
  const bytes = readBytes(backupPath(dataHome, record.original))
  return bytes !== undefined && hashOf(bytes) === record.original ? bytes : undefined
}

/** Path of a record's backup; `undefined` if there was nothing to back up. */
export function backupOf(dataHome: string, record: InstallRecord | undefined): string | undefined {
  return record === undefined || record.original === "absent"
    ? undefined
    : backupPath(dataHome, record.original)
}

/** Writes the backup, then the record that refers to it, then deletes backups that no record needs any more. */
export function writeRecord(
  dataHome: string,
  target: string,
  record: Omit<InstallRecord, "original">,
  original: Uint8Array | "absent",
): InstallRecord {
  const folder = folderOf(dataHome)
  makeFolders(folder, 0o700)
  chmodSync(folder, 0o700)
  const name = original === "absent" ? original : hashOf(original)
  const kept = { wrote: record.wrote, original: name, folders: record.folders }
  if (original !== "absent") replaceFile(backupPath(dataHome, name), original)
  writeRecords(dataHome, { ...readRecords(dataHome), [target]: kept })
  return kept
}

/** Drops the record of `target`, and our folder with the last record. */
export function dropRecord(dataHome: string, target: string): void {
  const { [target]: dropped, ...rest } = readRecords(dataHome)
  if (dropped === undefined) return
  writeRecords(dataHome, rest)
  if (Object.keys(rest).length > 0) return
  rmSync(join(folderOf(dataHome), MANIFEST), { force: true })
  removeIfEmpty(folderOf(dataHome))
}

/** Removes a folder if it is empty, and returns whether it did. */
export function removeIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    if (isMissing(error) || ["ENOTEMPTY", "EEXIST", "EPERM", "EACCES", "EBUSY"].includes(codeOf(error)))
      return false
    throw error
  }
}

const MANIFEST = "manifest.json"

function folderOf(dataHome: string): string {
  return join(dataHome, "install")
}

function backupPath(dataHome: string, name: string): string {
  return join(folderOf(dataHome), `${name}.orig`)
}

function readRecords(dataHome: string): Records {
  const bytes = readBytes(join(folderOf(dataHome), MANIFEST))
  if (bytes === undefined) return {}
  try {
    const files: unknown = JSON.parse(new TextDecoder().decode(bytes)).files
    return Object.fromEntries(Object.entries(files as object).filter(([, record]) => isRecord(record)))
  } catch {
    return {}
  }
}

function isRecord(value: unknown): value is InstallRecord {
  const record = value as InstallRecord | null
  return (
    typeof record?.wrote === "string" &&
    /^(?:absent|[0-9a-f]{64})$/.test(String(record.original)) &&
    Array.isArray(record.folders) &&
    record.folders.every((folder) => typeof folder === "string")
  )
}

function writeRecords(dataHome: string, files: Records): void {
  const before = new Set(Object.values(readRecords(dataHome)).map((record) => record.original))
  const text = `${JSON.stringify({ version: 1, files }, null, 2)}\n`
  replaceFile(join(folderOf(dataHome), MANIFEST), encode(text))
  for (const record of Object.values(files)) before.delete(record.original)
  for (const name of before) rmSync(backupPath(dataHome, name), { force: true })
}

/** The text of a file before us, blank if there was none; undefined: not known. */
export function originalText(dataHome: string, target: string): string | undefined {
  const record = readRecord(dataHome, target)
  const original = record && readOriginal(dataHome, record)
  return original === undefined || original === "absent" ? original && "" : decode(original)
}
