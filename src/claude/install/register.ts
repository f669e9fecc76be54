/**
 * Adds something of ours to a file of another program, and removes it again without a trace. What is in the file is
 * text to it: whoever calls says how that is edited, so the format may be any.
 *
 * An install writes the backup, then the manifest, then the file. A crash in between leaves a manifest with the wrong
 * hash, and a removal then only cuts out what is ours.
 */

import { chmodSync, rmdirSync, rmSync } from "node:fs"
import {
  decode,
  encode,
  expectUnchanged,
  expectWritable,
  hashOf,
  makeFolders,
  readBytes,
  removeLeftovers,
  replaceFile,
  targetOf,
} from "../../base/edited-file.ts"
import { CtxError, codeOf, isCtxError, isMissing, messageOf } from "../../base/errors.ts"
import { dirname, join } from "../../base/path.ts"

export interface WithOurs {
  readonly text: string
  /** What was not there: events, or the server. */
  readonly added: string[]
  /** What was there but called another binary, or was damaged, duplicated or in the wrong place. */
  readonly replaced: string[]
}

export interface WithoutOurs {
  readonly text: string
  /** What was there. */
  readonly removed: string[]
}

/** Something of ours in a file: how it is removed from the text, every other byte left as it is. */
export interface Ours {
  /** The file as Claude Code names it; it may be a link. */
  readonly file: string
  /** Mode of the folders created for it. */
  readonly folderMode: number
  /** Whose file it is, as options name the agent; undefined: Claude Code's. */
  readonly agent?: string
  /** Keeps others from writing the file meanwhile. */
  readonly lock?: (<T>(file: string, work: () => T) => T) | undefined
  /** Whether the file may hold what is private, even on the changed lines: then the diff is dropped. */
  readonly isPrivate?: boolean
  /** @param original the text before us, if it is known */
  remove(text: string, original?: string): WithoutOurs
  /** The same with what else of ours is in the file, where that is more. */
  removeAll?(text: string, original?: string): WithoutOurs
  /** Whether nothing is left in a text, so that a file made for us can be deleted. */
  isEmpty(text: string): boolean
}

/** The same with how it is added. */
export interface OursToAdd extends Ours {
  /** @param text undefined: the file does not exist */
  add(text: string | undefined): WithOurs
}

interface RegisterOptions {
  readonly dataHome: string
  /** Work out the change but write nothing. */
  readonly dryRun?: boolean
}

export interface SettingsChange {
  readonly file: string
  /** What was done to the file, or would be by a dry run; `restored`: to its bytes from before the install. */
  readonly action: "created" | "edited" | "restored" | "deleted" | "none"
  readonly changed: boolean
  readonly dryRun: boolean
  /** What of ours changed: events and settings by Claude Code's names, or the server. */
  readonly added: readonly string[]
  readonly replaced: readonly string[]
  readonly removed: readonly string[]
  /** Path of the backup of the settings as they were before us. */
  readonly backup: string | undefined
  /** The changed lines, marked `-` and `+`. */
  readonly diff: readonly string[]
}

/** Adds ours to the file. Repeating it changes nothing. */
export function register(ours: OursToAdd, { dataHome, dryRun = false }: RegisterOptions): SettingsChange {
  return onFile(ours, dryRun, (file, target) => {
    if (!dryRun) removeLeftovers(target)
    const bytes = readBytes(target)
    const text = bytes && decode(bytes)
    const edit = ours.add(text)
    const changed = edit.text !== text
    let record = readRecord(dataHome, target)
    const written = encode(edit.text)
    const settled = !changed && record?.wrote === hashOf(written)
    if (!settled) expectWritable(target)
    if (!dryRun && !settled) {
      const original = originalOf(ours, bytes, record, dataHome)
      const folders = makeFolders(dirname(target), ours.folderMode)
      const all = [...new Set([...(record?.folders ?? []), ...folders])]
      try {
        record = writeRecord(
          dataHome,
          target,
          { wrote: hashOf(written), folders: all, ...(ours.agent && { agent: ours.agent }) },
          original,
        )
      } catch (error) {
        folders.toReversed().every(removeIfEmpty)
        throw error
      }
    }
    if (!dryRun && changed) replaceFile(target, written, bytes ?? null)
    return {
      file,
      action: !changed ? "none" : bytes === undefined ? "created" : "edited",
      changed,
      dryRun,
      added: edit.added,
      replaced: edit.replaced,
      removed: [],
      backup: backupOf(dataHome, record),
      diff: ours.isPrivate ? [] : lineDiff(text ?? "", edit.text),
    }
  })
}

/**
 * Removes what is ours. If nobody has touched the file since the install, its former bytes are restored (or the file
 * and the folders created for it are deleted); otherwise only what is ours is cut out.
 */
export function unregister(ours: Ours, { dataHome, dryRun = false }: RegisterOptions): SettingsChange {
  return onFile(ours, dryRun, (file, target) => {
    if (!dryRun) removeLeftovers(target)
    const bytes = readBytes(target)
    const record = readRecord(dataHome, target)
    const { action, after, removed, hasMore } = withoutOurs(ours, bytes, record, dataHome)
    if (!dryRun) {
      if (bytes !== undefined && action !== "none") put(target, after, bytes)
      if (after === undefined) record?.folders.toReversed().every(removeIfEmpty)
      if (!hasMore) dropRecord(dataHome, target)
      else if (record?.wrote === hashOf(bytes!))
        writeRecords(dataHome, { ...readRecords(dataHome), [target]: { ...record, wrote: hashOf(after!) } })
    }
    return {
      file,
      action,
      changed: action !== "none",
      dryRun,
      added: [],
      replaced: [],
      removed,
      backup: undefined,
      diff: ours.isPrivate ? [] : lineDiff(textOf(bytes) ?? "", textOf(after) ?? ""),
    }
  })
}

interface Without {
  readonly action: "edited" | "restored" | "deleted" | "none"
  /** The file's new bytes; undefined if there should be no file. */
  readonly after: Uint8Array | undefined
  readonly removed: readonly string[]
  /** Whether something else of ours stays in it. */
  readonly hasMore: boolean
}

/** Works out what is left of a file without ours. */
function withoutOurs(
  ours: Ours,
  bytes: Uint8Array | undefined,
  record: InstallRecord | undefined,
  dataHome: string,
): Without {
  if (bytes === undefined) return { action: "none", after: undefined, removed: [], hasMore: false }
  const original = record && readOriginal(dataHome, record)
  const { removed, text } = ours.remove(decode(bytes), textOf(original))
  const hasMore = (ours.removeAll?.(text).removed ?? []).length > 0
  if (hasMore)
    return { action: removed.length > 0 ? "edited" : "none", after: encode(text), removed, hasMore }
  const isUntouched = hashOf(bytes) === record?.wrote
  // A file that was created for us is deleted if nothing else was added to it.
  const isVain = removed.length > 0 && ours.isEmpty(text)
  if (original === "absent" && (isUntouched || isVain))
    return { action: "deleted", after: undefined, removed, hasMore }
  const isRestored = isUntouched && original !== undefined && original !== "absent"
  const after = isRestored ? original : encode(text)
  if (Buffer.compare(bytes, after) === 0) return { action: "none", after, removed, hasMore }
  return { action: isRestored ? "restored" : "edited", after, removed, hasMore }
}

/** @throws CtxError if the file no longer has the bytes in `before` */
function put(target: string, after: Uint8Array | undefined, before: Uint8Array): void {
  expectWritable(target)
  if (after === undefined) {
    expectUnchanged(target, before)
    rmSync(target)
  } else replaceFile(target, after, before)
}

/** What the file would be now if we had never touched it. */
function originalOf(
  ours: Ours,
  bytes: Uint8Array | undefined,
  record: InstallRecord | undefined,
  dataHome: string,
): Uint8Array | "absent" {
  if (bytes === undefined) return "absent"
  const before = record && readOriginal(dataHome, record)
  if (before !== undefined && hashOf(bytes) === record?.wrote) return before
  // Someone has written the file since, or the manifest is lost: take what is there and remove what is ours.
  const { text, removed } = (ours.removeAll ?? ours.remove)(decode(bytes), textOf(before))
  if (removed.length === 0) return bytes
  return before === "absent" && ours.isEmpty(text) ? "absent" : encode(text)
}

function textOf(original: Uint8Array | "absent" | undefined): string | undefined {
  return original === undefined || original === "absent" ? undefined : decode(original)
}

/** Takes the lock, and adds the file's name to every error. */
function onFile<T>({ file, lock }: Ours, dryRun: boolean, work: (file: string, target: string) => T): T {
  const named = (): T => {
    try {
      return work(file, targetOf(file))
    } catch (cause) {
      throw withName(file, cause)
    }
  }
  return lock === undefined || dryRun ? named() : lock(file, named)
}

function withName(file: string, cause: unknown): unknown {
  if (isCtxError(cause)) {
    if (!cause.code.startsWith("settings-")) return cause
    const hint = cause.hint === undefined ? {} : { hint: cause.hint }
    return new CtxError(cause.code, `${file}: ${cause.message}`, { ...hint, exit: cause.exit, cause })
  }
  if (codeOf(cause) === "") return cause
  return new CtxError("settings-file", `cannot change ${file}: ${messageOf(cause)}`, {
    hint: "nothing was changed in it; check who may write there",
    cause,
  })
}

/*
 * What an install remembers in `<dataHome>/install/`, so that an uninstall leaves no trace: for each settings file, the
 * bytes that were there before us, the folders we created, and the hash of what we wrote.
 */

interface InstallRecord {
  /** SHA-256 of the settings as we wrote them. */
  readonly wrote: string
  /** SHA-256 of the settings without us, which also names their backup; `absent` when there was no file. */
  readonly original: string
  /** Folders that we created for the file, outermost first. */
  readonly folders: readonly string[]
  /** Whose file it is; undefined: Claude Code's. */
  readonly agent?: string
}

type Records = Record<string, InstallRecord>

/** The record for `target`. A damaged manifest counts as none, and the uninstall then only cuts out what is ours. */
export function readRecord(dataHome: string, target: string): InstallRecord | undefined {
  const records = readRecords(dataHome)
  return Object.hasOwn(records, target) ? records[target] : undefined
}

/** The files of an agent, or of Claude Code, that contain something of ours, according to our records. */
export const recordedTargets = (dataHome: string, agent?: string): string[] =>
  Object.entries(readRecords(dataHome)).flatMap(([target, record]) =>
    record.agent === agent ? [target] : [],
  )

/** The settings before us; `absent` if there were none, `undefined` if the backup is lost or damaged. */
export function readOriginal(dataHome: string, record: InstallRecord): Uint8Array | "absent" | undefined {
  if (record.original === "absent") return "absent"
  const bytes = readBytes(backupPath(dataHome, record.original))
  return bytes !== undefined && hashOf(bytes) === record.original ? bytes : undefined
}

/** Path of a record's backup; `undefined` if there was nothing to back up. */
function backupOf(dataHome: string, record: InstallRecord | undefined): string | undefined {
  return record === undefined || record.original === "absent"
    ? undefined
    : backupPath(dataHome, record.original)
}

/** Writes the backup, then the record that refers to it, then deletes backups that no record needs any more. */
function writeRecord(
  dataHome: string,
  target: string,
  record: Omit<InstallRecord, "original">,
  original: Uint8Array | "absent",
): InstallRecord {
  const folder = folderOf(dataHome)
  makeFolders(folder, 0o700)
  chmodSync(folder, 0o700)
  const name = original === "absent" ? original : hashOf(original)
  const kept = { ...record, original: name }
  if (original !== "absent") replaceFile(backupPath(dataHome, name), original)
  writeRecords(dataHome, { ...readRecords(dataHome), [target]: kept })
  return kept
}

/** Drops the record of `target`, and our folder with the last record. */
function dropRecord(dataHome: string, target: string): void {
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

/** The line diff shown by `--dry-run`. */

const CONTEXT = 1
const NOT_REACHED = Number.POSITIVE_INFINITY

/** The lines that differ between two texts, marked `-` and `+`, with a line of context (` `) around each run. */
export function lineDiff(before: string, after: string): string[] {
  const old = linesOf(before)
  const now = linesOf(after)
  const marked = mark(old, now)
  const shown = marked.map(() => false)
  marked.forEach((line, at) => {
    if (!line.startsWith(" ")) shown.fill(true, Math.max(0, at - CONTEXT), at + CONTEXT + 1)
  })
  return marked.flatMap((line, at) => {
    if (shown[at] !== true) return []
    return at > 0 && shown[at - 1] !== true ? ["...", line] : [line]
  })
}

/** Marks every line of both texts. The common beginning and end are set aside, so that changes stand together. */
function mark(old: readonly string[], now: readonly string[]): string[] {
  const most = Math.min(old.length, now.length)
  let head = 0
  while (head < most && old[head] === now[head]) head++
  let tail = 0
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const same = (line: string): string => ` ${line}`
  return [
    ...old.slice(0, head).map(same),
    ...markMiddle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ]
}

/** Marks as few changes as possible. */
function markMiddle(old: readonly string[], now: readonly string[]): string[] {
  const reached = reachedFromEnd(old, now)
  const marked: string[] = []
  let edits = reached.length - 1
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    if (i < old.length && old[i] === now[j]) {
      marked.push(` ${old[i++]}`)
      j++
      continue
    }
    // Of two equally short ways, the one that removes first.
    const isShorter = (reached[--edits]?.get(i + 1 - j) ?? NOT_REACHED) <= i + 1
    if (i < old.length && isShorter) marked.push(`-${old[i++]}`)
    else marked.push(`+${now[j++]}`)
  }
  return marked
}

/**
 * For each number of edits, and each difference between the places in the two texts, the first place in the old one
 * from which that many suffice up to the end. This is the algorithm of Myers ("An O(ND) Difference Algorithm and Its
 * Variations", 1986): settings may have many lines, but we change few.
 */
function reachedFromEnd(old: readonly string[], now: readonly string[]): Map<number, number>[] {
  const end = old.length - now.length
  const reached: Map<number, number>[] = []
  for (let edits = 0; ; edits++) {
    const before = reached.at(-1) ?? new Map([[end + 1, old.length + 1]])
    const places = new Map<number, number>()
    reached.push(places)
    for (let offset = end - edits; offset <= end + edits; offset += 2) {
      const removing = (before.get(offset + 1) ?? NOT_REACHED) - 1
      const adding = before.get(offset - 1) ?? NOT_REACHED
      let i = removing < 0 ? adding : Math.min(removing, adding)
      if (i < offset || i === NOT_REACHED) continue
      while (i > 0 && i > offset && old[i - 1] === now[i - 1 - offset]) i--
      places.set(offset, i)
      if (i === 0 && offset === 0) return reached
    }
  }
}

function linesOf(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/)
  if (lines.at(-1) === "") lines.pop()
  return lines
}
