/**
 * The functions of node:fs that hooks need, without node:fs: loading it costs more than everything a hook does with it
 * (docs/adr/0013). Rare cases, failures and other systems are passed on to node:fs, which is loaded then. So each
 * function behaves and throws as its namesake does.
 */
import type * as NodeFs from "node:fs"
import { codeOf } from "./errors.ts"
import { entryName, errno, errorName, type FileCalls, fileCalls, realPath } from "./libc.ts"
import { fromSystem } from "./path.ts"

type Fs = typeof NodeFs

const node = (): Fs => process.getBuiltinModule("node:fs")

// Determined once: a function that is called thirty times gets compiled by the engine, in a separate thread.
const calls: FileCalls | undefined = fileCalls()

/** The fields of a file's status that hooks use. */
export type FileStats = Pick<
  NodeFs.Stats,
  "dev" | "ino" | "mode" | "mtimeMs" | "size" | "isFile" | "isDirectory" | "isCharacterDevice"
>

const isLinux = process.platform === "linux"

/** Flags for openSync, as Linux, Darwin and Windows define them. Windows has no files that make us wait. */
export const constants = {
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: isLinux ? 0o100 : process.platform === "win32" ? 0x100 : 0x200,
  O_TRUNC: isLinux ? 0o1000 : process.platform === "win32" ? 0x200 : 0x400,
  O_APPEND: isLinux ? 0o2000 : 0x8,
  O_NONBLOCK: isLinux ? 0o4000 : process.platform === "win32" ? 0 : 0x4,
} as const

const NAMED = {
  r: constants.O_RDONLY,
  w: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC,
  a: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND,
} as const
const O_CLOEXEC = 0o2000000
const ENOENT = 2
const EINTR = 4
const AT_FDCWD = -100
const AT_EMPTY_PATH = 0x1000
const STATX_BASIC = 0x7ff
/** Length of struct statx, in units of four bytes. */
const STATX_LENGTH = 64
/** The one that statx(2) fills: each call is read before the next. */
const status = new Uint32Array(STATX_LENGTH)
/** Bits of a mode that say what a file is (inode(7)). */
const KIND = 0o170000
const MODE = 0o666
const BLOCK = 1 << 14

// Not Buffer, whose first use takes the engine 0.17 ms.
const utf8 = new TextEncoder()

/**
 * The path as the C library expects it; undefined without the library, or if the library would read it as a different
 * path.
 */
function native(path: string): Uint8Array | undefined {
  return calls === undefined || path.includes("\0") ? undefined : utf8.encode(`${path}\0`)
}

/** Does not wait for the other end of a pipe, which may be in the place of any file. */
export function openSync(path: string, flags: "r" | "w" | "a" | number, mode = MODE): number {
  const wanted = (typeof flags === "number" ? flags : NAMED[flags]) | constants.O_NONBLOCK
  const again = (): number => node().openSync(path, wanted, mode)
  const name = native(path)
  if (name === undefined) return again()
  const fd = calls!.open(name, wanted | O_CLOEXEC, mode)
  return fd >= 0 ? fd : orMissing(errno(), path, "open", again)
}

/** A missing file is common, so it is reported without node:fs. After any other failure, node:fs tries again. */
function orMissing<T>(code: number, path: string, syscall: string, again: () => T): T {
  if (code !== ENOENT) return again()
  const message = `ENOENT: no such file or directory, ${syscall} '${path}'`
  throw Object.assign(new Error(message), { code: "ENOENT", errno: -code, syscall, path })
}

/** Linux gives the descriptor up even when it reports an error. Tried again, it might be that of another file. */
export function closeSync(fd: number): void {
  if (calls === undefined) node().closeSync(fd)
  else if (calls.close(fd) !== 0) {
    const number = errno()
    const code = errorName(number)
    if (number !== EINTR)
      throw Object.assign(new Error(`${code}: close`), { code, errno: -number, syscall: "close" })
  }
}

type Transfer = (
  fd: number,
  bytes: Uint8Array,
  offset?: number,
  length?: number,
  /** Undefined: where the last call ended. */
  position?: number | null,
) => number

const transfer =
  (call: "read" | "write"): Transfer =>
  (fd, bytes, offset = 0, length = bytes.length - offset, position = null) => {
    if (calls !== undefined && isWithin(bytes, offset, length)) {
      if (length === 0) return 0
      const place = bytes.subarray(offset, offset + length)
      const n =
        position === null ? calls[call](fd, place, length) : calls[`p${call}`](fd, place, length, position)
      if (n >= 0) return n
    }
    return (node()[`${call}Sync`] as Transfer)(fd, bytes, offset, length, position)
  }

export const readSync: Transfer = transfer("read")
export const writeSync: Transfer = transfer("write")

/** The C library would accept any length. */
const isWithin = (bytes: Uint8Array, offset: number, length: number): boolean =>
  offset >= 0 && length >= 0 && length <= 0x7fff_0000 && offset + length <= bytes.length

export function fstatSync(fd: number): FileStats {
  if (calls === undefined || calls.statx(fd, EMPTY, AT_EMPTY_PATH, STATX_BASIC, status) !== 0)
    return node().fstatSync(fd)
  return new Status(status)
}

const EMPTY = new Uint8Array(1)

export function statSync(path: string, options: { throwIfNoEntry: false }): FileStats | undefined
export function statSync(path: string): FileStats
export function statSync(path: string, options?: { throwIfNoEntry: false }): FileStats | undefined {
  const name = native(path)
  const again = (): FileStats | undefined =>
    options === undefined ? node().statSync(path) : node().statSync(path, { throwIfNoEntry: false })
  if (name === undefined) return again()
  if (calls!.statx(AT_FDCWD, name, 0, STATX_BASIC, status) === 0) return new Status(status)
  return options !== undefined && errno() === ENOENT ? undefined : again()
}

/** Reads struct statx, which is the same on every Linux (linux/stat.h); all its machines are little-endian. */
class Status implements FileStats {
  readonly dev: number
  readonly ino: number
  readonly mode: number
  readonly mtimeMs: number
  readonly size: number

  constructor(fields: Uint32Array) {
    this.dev = deviceOf(fields[34]!, fields[35]!)
    this.ino = fields[9]! * 2 ** 32 + fields[8]!
    this.mode = fields[7]! & 0xffff
    // Signed, since a file may date from before 1970.
    this.mtimeMs = ((fields[29]! | 0) * 2 ** 32 + fields[28]!) * 1000 + fields[30]! / 1e6
    this.size = fields[11]! * 2 ** 32 + fields[10]!
  }

  isFile(): boolean {
    return (this.mode & KIND) === 0o100000
  }

  isDirectory(): boolean {
    return (this.mode & KIND) === 0o040000
  }

  isCharacterDevice(): boolean {
    return (this.mode & KIND) === 0o020000
  }
}

/** makedev(3), for numbers of ordinary size. */
const deviceOf = (major: number, minor: number): number =>
  ((minor & 0xfff00) << 12) | (major << 8) | (minor & 0xff)

export function existsSync(path: string): boolean {
  const name = native(path)
  return name === undefined ? node().existsSync(path) : calls!.statx(AT_FDCWD, name, 0, 0, status) === 0
}

const onNames =
  (call: "rename" | "link") =>
  (from: string, to: string): void => {
    const names = [native(from), native(to)]
    if (names[0] && names[1] && calls![call](names[0], names[1]) === 0) return
    if (process.platform === "win32") whileInUse(() => node()[`${call}Sync`](from, to))
    else node()[`${call}Sync`](from, to)
  }

/** ms for which somebody may have a file open that is to be replaced. */
const IN_USE = 1000

/** Windows does not rename over an open file, and its scanner opens every new one for a moment. */
function whileInUse(act: () => void): void {
  for (const end = performance.now() + IN_USE; ; ) {
    try {
      act()
      return
    } catch (error) {
      if (!["EPERM", "EBUSY", "EACCES"].includes(codeOf(error)) || performance.now() >= end) throw error
    }
    Bun.sleepSync(10)
  }
}

export const renameSync = onNames("rename")
export const linkSync = onNames("link")

export function unlinkSync(path: string): void {
  const name = native(path)
  if (name === undefined || calls!.unlink(name) !== 0) node().unlinkSync(path)
}

/** Names, in no particular order. */
export function readdirSync(path: string): string[]
export function readdirSync(path: string, options: { withFileTypes: true }): NodeFs.Dirent[]
export function readdirSync(path: string, options?: { withFileTypes: true }): string[] | NodeFs.Dirent[] {
  if (options !== undefined) return node().readdirSync(path, options)
  const name = native(path)
  if (name === undefined) return node().readdirSync(path)
  const folder = calls!.opendir(name)
  if (folder === null) return orMissing(errno(), path, "scandir", () => node().readdirSync(path))
  const names: string[] = []
  for (let entry = calls!.readdir(folder); entry !== null; entry = calls!.readdir(folder)) {
    const one = entryName(entry)
    if (one !== "." && one !== "..") names.push(one)
  }
  calls!.closedir(folder)
  return names
}

export function readFileSync(path: string): Buffer
export function readFileSync(path: string, encoding: "utf8"): string
export function readFileSync(path: string, encoding?: "utf8"): Buffer | string {
  const fd = openSync(path, "r")
  try {
    let bytes = Buffer.allocUnsafe(BLOCK)
    let size = 0
    for (;;) {
      if (size === bytes.length) bytes = Buffer.concat([bytes], bytes.length * 4)
      const n = readSync(fd, bytes, size, bytes.length - size)
      if (n === 0) break
      size += n
    }
    const read = bytes.subarray(0, size)
    return encoding === undefined ? read : read.toString(encoding)
  } finally {
    closeSync(fd)
  }
}

export const writeFileSync = (path: string, text: string, options: { mode: number }): void =>
  writeTo(openSync(path, "w", options.mode), text)

export const appendFileSync = (path: string, text: string, options: { mode: number }): void =>
  writeTo(openSync(path, "a", options.mode), text)

function writeTo(fd: number, text: string): void {
  try {
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
  } finally {
    closeSync(fd)
  }
}

export function realpathSync(path: string): string {
  const name = native(path)
  return (name && realPath(name)) ?? fromSystem(node().realpathSync(path))
}

// Rarely needed by a hook.
export const ftruncateSync: Fs["ftruncateSync"] = (...args) => node().ftruncateSync(...args)
export const copyFileSync: Fs["copyFileSync"] = (...args) => node().copyFileSync(...args)
export const fsyncSync: Fs["fsyncSync"] = (...args) => node().fsyncSync(...args)
export const mkdirSync = ((path: string, options?: NodeFs.MakeDirectoryOptions) => {
  mayMake()
  const first = node().mkdirSync(path, options)
  try {
    mayMake()
  } catch (error) {
    if (first !== undefined) unmake(path, first)
    throw error
  }
  return first
}) as Fs["mkdirSync"]

/** Removes empty folders from `path` up to `first`, which contains it. */
function unmake(path: string, first: string): void {
  try {
    for (let each = path; each.startsWith(first); each = each.slice(0, each.lastIndexOf("/"))) rmdirSync(each)
  } catch {
    // Somebody else has put something there.
  }
}

let mayMake = (): void => {}

/**
 * From now on, `allowed` is called before this process makes a folder, and throws if it must not. It is called again
 * afterwards, as that may have changed in between; then the new folder is removed.
 */
export function beforeMaking(allowed: () => void): void {
  mayMake = allowed
}

export const rmSync: Fs["rmSync"] = (...args) => node().rmSync(...args)
export const rmdirSync: Fs["rmdirSync"] = (...args) => node().rmdirSync(...args)
export const lstatSync = ((path: string, options?: NodeFs.StatSyncOptions) =>
  node().lstatSync(path, options)) as Fs["lstatSync"]
