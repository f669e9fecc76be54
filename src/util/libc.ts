/**
 * Calls of the C library: what neither Bun nor Node has (a lock that dies with its holder, waiting for input with a
 * deadline, an environment that libraries see), and on Linux the file calls of hooks. The only importer of bun:ffi
 * (0.4 ms with all of them).
 */
import { CString, dlopen, type FFIFunction, type Pointer, ptr, read } from "bun:ffi"
import { CtxError } from "./errors.ts"
import { once } from "./once.ts"

const LOCK_SH = 1
const LOCK_EX = 2
const LOCK_NB = 4
const POLLIN = 1

const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`],
  darwin: ["libSystem.B.dylib"],
}

const SYMBOLS = {
  flock: { args: ["i32", "i32"], returns: "i32" },
  poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
} as const

/** No more than 2 GB at once: so `i32` holds every count, and -1. */
const FILE_SYMBOLS = {
  __errno_location: { args: [], returns: "ptr" },
  close: { args: ["i32"], returns: "i32" },
  closedir: { args: ["ptr"], returns: "i32" },
  link: { args: ["ptr", "ptr"], returns: "i32" },
  open: { args: ["ptr", "i32", "u32"], returns: "i32" },
  opendir: { args: ["ptr"], returns: "ptr" },
  pread: { args: ["i32", "ptr", "u64", "i64"], returns: "i32" },
  pwrite: { args: ["i32", "ptr", "u64", "i64"], returns: "i32" },
  read: { args: ["i32", "ptr", "u64"], returns: "i32" },
  readdir: { args: ["ptr"], returns: "ptr" },
  rename: { args: ["ptr", "ptr"], returns: "i32" },
  statx: { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" },
  unlink: { args: ["ptr"], returns: "i32" },
  write: { args: ["i32", "ptr", "u64"], returns: "i32" },
} as const

type Common = ReturnType<typeof openCommon>
type Whole = ReturnType<typeof openWhole>
const openCommon = (name: string) => dlopen(name, SYMBOLS).symbols
const openWhole = (name: string) => dlopen(name, { ...SYMBOLS, ...FILE_SYMBOLS }).symbols

let common: Common | undefined
let whole: Whole | undefined
let isOpened = false

function open(): void {
  isOpened = true
  try {
    // Elsewhere the numbers of flags and the layout of structures are others, and open(2) is called otherwise.
    if (process.platform === "linux") whole = first(openWhole)
  } catch {
    // A library too old for statx (glibc 2.28).
  }
  common = whole ?? first(openCommon)
}

function libc(): Common {
  if (!isOpened || common === undefined) open()
  return common!
}

/** The file calls; undefined where they are not to be had. */
export type FileCalls = Pick<Whole, Exclude<keyof typeof FILE_SYMBOLS, "__errno_location">>

export function fileCalls(): FileCalls | undefined {
  try {
    libc()
  } catch {
    // Whoever needs a lock is told.
  }
  return whole
}

/** Number of the last error. To be asked right after a file call failed. */
export function errno(): number {
  const place = whole?.__errno_location()
  return place === undefined || place === null ? 0 : read.i32(place)
}

/** Of a struct dirent: its name stands behind two numbers of 8 bytes, its length and its type (readdir(3)). */
export const entryName = (entry: Pointer | bigint): string => new CString(entry as Pointer, 19).toString()

function first<T>(open: (name: string) => T): T {
  let cause: unknown
  for (const name of LIBRARIES[process.platform] ?? []) {
    try {
      return open(name)
    } catch (error) {
      cause = error
    }
  }
  throw new CtxError("no-libc", `no C library on ${process.platform}`, { cause })
}

/** flock(2): tries once to lock an open file, for this holder alone or together with others that share. */
export const tryLock = (fd: number, shared = false): boolean =>
  libc().flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) === 0

/** poll(2): waits at most `ms` until `fd` can be read or has ended. */
export function readable(fd: number, ms: number): boolean {
  // struct pollfd: int fd, short events, short revents
  const request = Int32Array.of(fd, POLLIN)
  return libc().poll(request, 1, Math.max(0, Math.ceil(ms))) > 0
}

/** Bytes of a path, with the 0 behind it. */
const PATH_MAX = 4096

/** A call that hooks make seldom or never: opened apart from the others, when it is first asked for. */
export const seldomCalled = <const F extends FFIFunction>(name: string, call: F) =>
  once(() => first((library) => dlopen(library, { [name]: call })).symbols[name]!)

const realpathOf = seldomCalled("realpath", { args: ["ptr", "ptr"], returns: "ptr" })

/**
 * realpath(3).
 *
 * @param path with a 0 behind it
 * @returns undefined when there is no such file, or it may not be looked for
 */
export function realPath(path: Uint8Array): string | undefined {
  const into = new Uint8Array(PATH_MAX)
  return realpathOf()(path, into) === null ? undefined : new CString(ptr(into)).toString()
}

/**
 * setenv(3): a variable for libraries that are loaded from here on. What is assigned to `process.env` reaches only
 * JavaScript and children.
 */
export function setVariable(name: string, value: string): void {
  const bytes = (text: string): Uint8Array => Buffer.from(`${text}\0`)
  const setenv = seldomCalled("setenv", { args: ["ptr", "ptr", "i32"], returns: "i32" })()
  if (setenv(bytes(name), bytes(value), 1) !== 0) throw new CtxError("setenv", `cannot set ${name}`)
}
