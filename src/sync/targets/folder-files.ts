/**
 * The files of a folder in which several machines keep entries and frames:
 *
 *     ctxbridge.json                   names the folder and its format
 *     entries/<writer>.<n>.jsonl       entries, one per line
 *     frames/<writer>.<n>.jsonl        pieces of the vault, one per line
 *     forgotten/<writer>.jsonl         ids and sessions that are forgotten
 *
 * Each writer appends only to its own files, so that whatever carries the folder from one machine to another never has
 * to merge two versions of a file. Each line is there whole, or not at all: a half line at the end is one that is still on
 * its way, or never arrived.
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, rmSync } from "node:fs"
import { CtxError, codeOf, isMissing, messageOf } from "../../base/errors.ts"
import { flush, statsOf, tryTo, writePrivate } from "../../base/files.ts"
import { mkdirSync, renameSync, writeSync } from "../../base/fs.ts"
import { fileNamesIn, parseJson } from "../../base/json-files.ts"
import { basename, dirname, join } from "../../base/path.ts"
import { endOfLines, linesIn, NEWLINE } from "../../record/lines-with.ts"
import type { ForgottenThere } from "./entry-rules.ts"

/** Bytes after which a writer begins another file: a cloud drive sends a changed file whole. */
const LARGEST = 8 << 20

/**
 * Where a name is, in whatever letters: some file systems show names in capitals that were written in small letters, and
 * a drive carries them on like this.
 */
function spelled(folder: string, name: string): string {
  const exact = join(folder, name)
  if (statsOf(exact) !== undefined) return exact
  const other = namesLike(folder, name)[0]
  return other === undefined ? exact : join(folder, other)
}

const namesLike = (folder: string, name: string): string[] =>
  fileNamesIn(folder)
    .filter((one) => one.toLowerCase() === name.toLowerCase())
    .sort()

export const markerFile = (root: string): string => spelled(root, "ctxbridge.json")
export const entriesFolder = (root: string): string => spelled(root, "entries")
export const framesFolder = (root: string): string => spelled(root, "frames")
export const forgottenFolder = (root: string): string => spelled(root, "forgotten")
export const forgottenFile = (root: string, writer: string): string =>
  join(forgottenFolder(root), `${writer}.jsonl`)

/** A folder that is open. */
export interface LineFolder {
  readonly root: string
  readonly id: string
  /** undefined: it is not encrypted. */
  readonly seal: LineSeal | undefined
  /** What was made when it was opened: the folder, or its key. */
  readonly made?: "folder" | "key"
}

/**
 * Names of all writers' files in a folder, in a fixed order: first those with names as we give them, then what cloud
 * drives have made of some (`….1 (conflicted copy 2026-01-01).jsonl`, `….1-LAPTOP.jsonl`, `….sync-conflict-….jsonl`). Where
 * there is a second folder of the same name in other letters, the names begin with its own.
 */
export function lineFilesIn(folder: string): string[] {
  const own = basename(folder)
  const others = namesLike(dirname(folder), own).filter((name) => name !== own)
  const elsewhere = others.flatMap((other) =>
    fileNamesIn(join(dirname(folder), other), isNoFolder).map((name) => `../${other}/${name}`),
  )
  return [...fileNamesIn(folder, isMissing), ...elsewhere]
    .filter((name) => isOurs(name) && statsOf(join(folder, name))?.isFile() !== false)
    .sort((a, b) => Number(isCopy(a)) - Number(isCopy(b)) || (a < b ? -1 : 1))
}

const isNoFolder = (error: unknown): boolean => isMissing(error) || codeOf(error) === "ENOTDIR"

const isOurs = (name: string): boolean => /\.jsonl/i.test(name) && !basename(name).startsWith(".")

const NAMED_BY_US = /^[A-Za-z0-9-]+(?:\.\d+)?\.jsonl$/i

/** Whether somebody has made it of one of our files. */
const isCopy = (name: string): boolean => !NAMED_BY_US.test(basename(name))

/** Whose file it is, whatever was added to its name; undefined: nobody's. */
export const isWriters = (name: string, writer: string): boolean =>
  basename(name).replace(COPY_OF, "").toLowerCase().startsWith(`${writer}.`.toLowerCase())

const numberOf = (name: string): number => Number(/\.(\d+)(?!\d)/.exec(basename(name))?.[1] ?? 0)

/** A writer's own files, the one to append to last; before it copies that somebody has made of them. */
export const ownFiles = (folder: string, writer: string): string[] =>
  lineFilesIn(folder)
    .filter((name) => isWriters(name, writer) && numberOf(name) > 0)
    .sort((a, b) => Number(isCopy(b)) - Number(isCopy(a)) || numberOf(a) - numberOf(b))

/** Removes what a killed process had begun to write in place of one of the writer's files. */
export function removeHalfRewritten(folder: string, writer: string): void {
  for (const name of fileNamesIn(folder, isMissing)) {
    if (name.startsWith(`.${writer}.`)) rmSync(join(folder, name), { force: true })
  }
}

/** Name of the file that the writer appends to. */
export function currentFile(folder: string, writer: string): string {
  const last = ownFiles(folder, writer)
    .filter((name) => !isCopy(name))
    .at(-1)
  const size = last === undefined ? undefined : statsOf(join(folder, last))?.size
  if (last === undefined || size === undefined) return `${writer}.1.jsonl`
  return size < LARGEST ? last : `${writer}.${numberOf(last) + 1}.jsonl`
}

export function readForgotten(folder: LineFolder): ForgottenThere {
  const ids = new Set<string>()
  const sessions = new Set<string>()
  for (const line of forgottenLines(folder)) {
    const { id, session } = line as { id?: unknown; session?: unknown }
    if (typeof id === "string") ids.add(id)
    if (typeof session === "string") sessions.add(session)
  }
  return { ids, sessions }
}

/** Lines that whoever forgets something has written, of all writers. */
export function* forgottenLines({ root, seal }: LineFolder): Generator<object> {
  for (const name of lineFilesIn(forgottenFolder(root))) {
    for (const line of wholeLines(join(forgottenFolder(root), name), seal)) {
      const value = parseJson(line)
      if (typeof value === "object" && value !== null) yield value
    }
  }
}

/** Bytes that are read at once. */
const BLOCK = 1 << 20
/** Bytes of a line: the longest frame in base64, with room to spare. Nobody writes a longer one but to fill our memory. */
export const LONGEST_KEPT_LINE = 128 << 20

/** The system's reason in words that say what to do. */
export const unwritable = (path: string, cause: unknown): CtxError =>
  new CtxError("target-unwritable", `cannot write ${path}: ${messageOf(cause)}`, {
    hint: "it must be writable and have room; what was committed stays",
    cause,
  })

const utf8 = new TextDecoder()

/** Where a line is in its file, in bytes, without its newline. */
export interface PlaceInFile {
  readonly from: number
  readonly to: number
  /** From 0. */
  readonly number: number
}

/** What closes and opens the lines of a folder; without it, they are there as they are. */
export interface LineSeal {
  close(line: string, place: string): string
  open(sealed: string, place: string): string | undefined
}

/** A line's place is bound to it: its folder's name, its file's, and its number. */
const placeOf = (file: string, number: number): string => `${shortName(file)}:${number}`

/** With its folder's, as it is in the root of all. */
export const shortName = (file: string): string => `${basename(dirname(file))}/${basename(file)}`

/** A line that cannot be opened is empty, which is no value of anybody's. */
function opened(line: string, file: string, number: number, seal: LineSeal | undefined): string {
  if (seal === undefined) return line
  const found = seal.open(line, placeOf(file, number))
  if (found !== undefined) return found
  for (const name of formerNames(file)) {
    const former = seal.open(line, `${name}:${number}`)
    if (former !== undefined) return former
  }
  return ""
}

/**
 * What a file may have been called when its lines were written: a cloud drive that met two versions of it has added
 * something to the name of one of them, and some file systems show all names in capitals.
 */
function formerNames(file: string): string[] {
  const folder = basename(dirname(file)).toLowerCase()
  const name = basename(file).replace(COPY_OF, "")
  const numbered = /^[A-Za-z0-9-]+\.\d+(?!\d)/.exec(name)?.[0]
  const stems = numbered === undefined ? beginnings(/^[A-Za-z0-9-]*/.exec(name)![0]) : [numbered]
  return stems.flatMap((stem) => {
    const former = `${folder}/${stem}.jsonl`
    return [former, former.toLowerCase(), former.toUpperCase()]
  })
}

/** Of `a-b-c`: itself, `a-b` and `a`. */
const beginnings = (stem: string): string[] =>
  stem.split("-").map((_, n, parts) => parts.slice(0, parts.length - n).join("-"))

/** How the name of a copy begins that a cloud drive or a person made of a file. */
const COPY_OF = /^copy of /i

const closed = (lines: readonly string[], file: string, first: number, seal: LineSeal | undefined): string =>
  lines
    .map((line, n) => `${seal === undefined ? line : seal.close(line, placeOf(file, first + n))}\n`)
    .join("")

/** A file's whole lines, without their newlines. What comes behind the last newline is left out. */
export function* wholeLines(file: string, seal?: LineSeal): Generator<string> {
  for (const { line } of placedLines(file, seal)) yield line
}

/** Characters of a line that tell what it is. */
const TOLD_BY = 64

/** How the first lines of a file begin, and how what may become a line at its end does. */
export function* lineStarts(file: string, most: number): Generator<string> {
  const fd = tryTo(() => openSync(file, "r"))
  if (fd === undefined) return
  try {
    let start = ""
    let given = 0
    const block = new Uint8Array(most === 1 ? TOLD_BY : BLOCK)
    for (;;) {
      const read = readSync(fd, block)
      if (read === 0) break
      for (const [from, to] of linesIn(block.subarray(0, read))) {
        start += utf8.decode(block.subarray(from, Math.min(to, from + TOLD_BY - start.length)))
        if (to === read) continue
        if (start !== "") yield start
        if (start !== "" && ++given >= most) return
        start = ""
      }
      if (most === 1 && start.length >= TOLD_BY) break
    }
    if (start !== "") yield start
  } finally {
    closeSync(fd)
  }
}

export function* placedLines(
  file: string,
  seal?: LineSeal,
): Generator<PlaceInFile & { readonly line: string }> {
  let fd: number
  try {
    fd = openSync(file, "r")
  } catch (error) {
    // Another writer may have replaced its files since they were listed.
    if (isMissing(error)) return
    throw error
  }
  try {
    const block = new Uint8Array(BLOCK)
    /** What was read of a line that goes on, and its length. */
    let parts: Uint8Array[] = []
    let length = 0
    let at = 0
    let number = 0
    for (;;) {
      const read = readSync(fd, block)
      if (read === 0) return
      const view = block.subarray(0, read)
      const end = endOfLines(view)
      if (end > 0) {
        // One that is too long counts, and is empty.
        const isKept = length <= LONGEST_KEPT_LINE
        const first = view.indexOf(NEWLINE)
        const bytes = isKept
          ? Buffer.concat([...parts, view.subarray(0, end)])
          : view.subarray(first + 1, end)
        if (!isKept) yield { from: at, to: at + length + first, number: number++, line: "" }
        const start = isKept ? at : at + length + first + 1
        for (const [from, to] of linesIn(bytes)) {
          const line = opened(utf8.decode(bytes.subarray(from, to)), file, number, seal)
          yield { from: start + from, to: start + to, number, line }
          number++
        }
        at += length + end
        parts = []
        length = 0
      }
      length += read - end
      if (length <= LONGEST_KEPT_LINE) parts.push(view.slice(end))
      else parts = []
    }
  } finally {
    closeSync(fd)
  }
}

/** One line, at a place where it was; undefined if there is no such file. */
export function readLine(
  file: string,
  { from, to, number }: PlaceInFile,
  seal?: LineSeal,
): string | undefined {
  const fd = tryTo(() => openSync(file, "r"))
  if (fd === undefined) return undefined
  try {
    const bytes = new Uint8Array(to - from)
    let done = 0
    while (done < bytes.length) {
      const read = readSync(fd, bytes, done, bytes.length - done, from + done)
      if (read === 0) break
      done += read
    }
    return opened(utf8.decode(bytes.subarray(0, done)), file, number, seal)
  } finally {
    closeSync(fd)
  }
}

/**
 * Appends whole lines in one write and waits until they are on the disk. A half line that a killed process or a full
 * disk left behind is cut off first, so that no line is ever joined with it.
 */
export function appendLines(file: string, lines: readonly string[], seal?: LineSeal): void {
  if (lines.length === 0) return
  try {
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 })
    cutHalfLine(file)
    const bytes = new TextEncoder().encode(closed(lines, file, seal === undefined ? 0 : countOf(file), seal))
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

/** Lines of a file that ends with a whole one. */
function countOf(file: string): number {
  let count = 0
  for (const _ of wholeLines(file)) count++
  return count
}

/** @returns bytes that were cut off */
function cutHalfLine(file: string): number {
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

/** Counts lines by the files that they are in. */
export class LineCounts {
  readonly #lines = new Map<string, number>()

  add(file: string, lines = 1): void {
    if (lines > 0) this.#lines.set(file, (this.#lines.get(file) ?? 0) + lines)
  }

  clear(): void {
    this.#lines.clear()
  }

  /** By their names below the folder. */
  get files(): { readonly file: string; readonly lines: number }[] {
    return [...this.#lines].map(([file, lines]) => ({ file: shortName(file), lines }))
  }
}

/** Replaces a file of ours by the lines that stay, if not all do; removes it when none do. */
export function keepLines(file: string, stays: readonly boolean[], seal?: LineSeal): void {
  if (stays.every(Boolean)) return
  const lines = [...wholeLines(file, seal)].filter((_, n) => stays[n])
  const made = join(file, "..", `.${basename(file)}.new`)
  try {
    if (lines.length === 0) {
      rmSync(file, { force: true })
      return
    }
    writePrivate(made, closed(lines, file, 0, seal))
    flush(made)
    renameSync(made, file)
  } catch (cause) {
    rmSync(made, { force: true })
    throw unwritable(file, cause)
  }
}
