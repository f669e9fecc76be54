/**
 * The files of a folder in which several machines keep entries:
 *
 *     ctxbridge.json                   names the folder and its format
 *     entries/<writer>.<n>.jsonl       entries, one per line
 *     forgotten/<writer>.jsonl         ids and sessions that are forgotten
 *
 * Each writer appends only to its own files, so that whatever carries the folder from one machine to another never has
 * to merge two versions of a file. A half line at the end is one that is still on its way, or never arrived.
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
} from "node:fs"
import { basename, join } from "node:path"
import { endOfLines, linesIn } from "../util/byte-lines.ts"
import { CtxError, isMissing, messageOf } from "../util/errors.ts"
import { flush, statsOf, tryTo, writePrivate } from "../util/files.ts"
import { mkdirSync, readFileSync, writeSync } from "../util/fs.ts"
import { fileNamesIn } from "../util/json-files.ts"
import { parseJson } from "../util/parse-json.ts"

const FORMAT = 1
/** Bytes after which a writer begins another file: a cloud drive sends a changed file whole. */
const LARGEST = 8 << 20
const BLOCK = 1 << 20

export const entriesFolder = (root: string): string => join(root, "entries")
const forgottenFolder = (root: string): string => join(root, "forgotten")
export const forgottenFile = (root: string, writer: string): string =>
  join(forgottenFolder(root), `${writer}.jsonl`)

/**
 * Opens the folder, and makes it unless it is there. Its parent must be there: a folder on a stick that is not plugged in
 * must not be made where the stick would be.
 *
 * @returns the folder's id
 */
export function openFolder(root: string): string {
  const marker = join(root, "ctxbridge.json")
  const stats = statsOf(root)
  if (stats === undefined) make(root)
  else if (!stats.isDirectory()) throw new CtxError("target-missing", `not a folder: ${root}`)
  for (let attempt = 0; attempt < 2; attempt++) {
    const found = readMarker(marker)
    if (found !== undefined) return found
    const own = `${marker}.${process.pid}`
    try {
      writePrivate(own, `${JSON.stringify({ format: FORMAT, id: crypto.randomUUID() })}\n`)
      // Unlike a rename, this leaves the one that somebody else has made in the meantime.
      tryTo(() => linkSync(own, marker))
      // Where there are no links, as on a stick.
      if (statsOf(marker) === undefined) renameSync(own, marker)
    } catch (cause) {
      throw unwritable(root, cause)
    } finally {
      tryTo(() => rmSync(own, { force: true }))
    }
  }
  throw new CtxError("target-failed", `cannot make ${marker}`)
}

/**
 * For whoever only reads: nothing is made.
 *
 * @returns the folder's id
 */
export function openFolderThere(root: string): string {
  const found = readMarker(join(root, "ctxbridge.json"))
  if (found !== undefined) return found
  throw new CtxError("target-missing", `${root}: nothing was ever sent there`, {
    hint: "is the drive or share mounted? ctxbridge sync sends something there",
  })
}

function make(root: string): void {
  try {
    mkdirSync(root, { mode: 0o700 })
  } catch (cause) {
    if (!isMissing(cause)) throw unwritable(root, cause)
    throw new CtxError("target-missing", `no such folder: ${join(root, "..")}`, {
      hint: "make it first; is the drive or share mounted?",
    })
  }
}

function readMarker(marker: string): string | undefined {
  let text: string
  try {
    text = readFileSync(marker, "utf8")
  } catch (error) {
    if (isMissing(error)) return undefined
    throw unwritable(marker, error)
  }
  const { format, id } = (parseJson(text) ?? {}) as { format?: unknown; id?: unknown }
  if (typeof format !== "number" || typeof id !== "string") {
    throw new CtxError("target-damaged", `${marker} is not one of ours, or damaged`, {
      hint: "name another folder, or remove the file: everything is sent again then",
    })
  }
  if (format > FORMAT) {
    throw new CtxError("target-newer", `${marker} is from a newer version of ctxbridge (format ${format})`, {
      hint: "upgrade ctxbridge on this machine",
    })
  }
  return id
}

/** The system's reason in words that say what to do. */
export const unwritable = (path: string, cause: unknown): CtxError =>
  new CtxError("target-unwritable", `cannot write ${path}: ${messageOf(cause)}`, {
    hint: "it must be writable and have room; what was committed stays",
    cause,
  })

/** Names of all files with entries, in a fixed order. */
export const entryFiles = (root: string): string[] =>
  fileNamesIn(entriesFolder(root), isMissing).filter(isOurs).sort()

const isOurs = (name: string): boolean => name.endsWith(".jsonl") && !name.startsWith(".")

const numberOf = (name: string): number => Number(/\.(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)

/** A writer's own files with entries, the one to append to last. */
export const ownFiles = (root: string, writer: string): string[] =>
  entryFiles(root)
    .filter((name) => name.startsWith(`${writer}.`) && numberOf(name) > 0)
    .sort((a, b) => numberOf(a) - numberOf(b))

/** Removes what a killed process had begun to write in place of one of the writer's files. */
export function removeHalfRewritten(root: string, writer: string): void {
  for (const name of fileNamesIn(entriesFolder(root), isMissing)) {
    if (name.startsWith(`.${writer}.`)) rmSync(join(entriesFolder(root), name), { force: true })
  }
}

/** Name of the file that the writer appends to. */
export function currentFile(root: string, writer: string): string {
  const last = ownFiles(root, writer).at(-1)
  const size = last === undefined ? undefined : statsOf(join(entriesFolder(root), last))?.size
  if (last === undefined || size === undefined) return `${writer}.1.jsonl`
  return size < LARGEST ? last : `${writer}.${numberOf(last) + 1}.jsonl`
}

/** What all writers have forgotten. */
export interface ForgottenEntries {
  readonly ids: ReadonlySet<string>
  readonly sessions: ReadonlySet<string>
}

export function readForgotten(root: string): ForgottenEntries {
  const ids = new Set<string>()
  const sessions = new Set<string>()
  for (const name of fileNamesIn(forgottenFolder(root), isMissing).filter(isOurs)) {
    for (const line of wholeLines(join(forgottenFolder(root), name))) {
      const { id, session } = (parseJson(line) ?? {}) as { id?: unknown; session?: unknown }
      if (typeof id === "string") ids.add(id)
      if (typeof session === "string") sessions.add(session)
    }
  }
  return { ids, sessions }
}

const utf8 = new TextDecoder()

/** A file's whole lines, without their newlines. What comes behind the last newline is left out. */
export function* wholeLines(file: string): Generator<string> {
  let fd: number
  try {
    fd = openSync(file, "r")
  } catch (error) {
    // Another writer may have replaced its files since they were listed.
    if (isMissing(error)) return
    throw error
  }
  try {
    let rest: Uint8Array = new Uint8Array()
    for (;;) {
      const block = new Uint8Array(Math.max(BLOCK, rest.length))
      const read = readSync(fd, block)
      if (read === 0) return
      const bytes = Buffer.concat([rest, block.subarray(0, read)])
      const end = endOfLines(bytes)
      for (const [from, to] of linesIn(bytes.subarray(0, end))) yield utf8.decode(bytes.subarray(from, to))
      rest = bytes.subarray(end)
    }
  } finally {
    closeSync(fd)
  }
}

/**
 * Appends whole lines in one write and waits until they are on the disk. A half line that a killed process or a full
 * disk left behind is cut off first, so that no line is ever joined with it.
 */
export function appendLines(file: string, lines: readonly string[]): void {
  if (lines.length === 0) return
  const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""))
  try {
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 })
    cutHalfLine(file)
    const fd = openSync(file, "a", 0o600)
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (cause) {
    throw unwritable(file, cause)
  }
}

/** @returns bytes that were cut off */
export function cutHalfLine(file: string): number {
  const size = statsOf(file)?.size ?? 0
  if (size === 0) return 0
  const fd = openSync(file, "r+")
  try {
    let end = 0
    const block = new Uint8Array(BLOCK)
    for (let to = size; to > 0 && end === 0; to -= Math.min(to, BLOCK)) {
      const from = Math.max(0, to - BLOCK)
      const read = readSync(fd, block, 0, to - from, from)
      const newline = endOfLines(block.subarray(0, read))
      if (newline > 0) end = from + newline
    }
    if (end < size) ftruncateSync(fd, end)
    return size - end
  } finally {
    closeSync(fd)
  }
}

/** Replaces a file of ours by the lines that stay; removes it when none do. */
export function rewriteLines(file: string, lines: readonly string[]): void {
  const made = join(file, "..", `.${basename(file)}.new`)
  try {
    if (lines.length === 0) {
      rmSync(file, { force: true })
      return
    }
    writePrivate(made, lines.map((line) => `${line}\n`).join(""))
    flush(made)
    renameSync(made, file)
  } catch (cause) {
    rmSync(made, { force: true })
    throw unwritable(file, cause)
  }
}
