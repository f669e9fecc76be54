/**
 * Calls into the C library: what neither Bun nor Node offers (a lock that ends with its holder, waiting for input with
 * a deadline, an environment that libraries see) and, on Linux, the file calls of hooks. The only file that imports
 * bun:ffi (0.4 ms with all of them). Windows has no C library of its own; kernel32.ts does the same there.
 */

import { CString, dlopen, type FFIFunction, type Pointer, ptr, toArrayBuffer } from "bun:ffi"
import { CtxError } from "./errors.ts"
import { once } from "./once.ts"
import { ownProgram } from "./own-program.ts"

const LOCK_SH = 1
const LOCK_EX = 2
const LOCK_NB = 4
const POLLIN = 1
const POLLOUT = 4
const EINTR = 4
const EAGAIN = process.platform === "linux" ? 11 : 35

const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`],
  darwin: ["libSystem.B.dylib"],
}

const windows = /* @__PURE__ */ once(() => windowsCalls(dlopen, ownProgram()))

/** Tells where the number of this thread's last error is kept. The type is a stand-in for either name. */
const ERRNO = (process.platform === "darwin" ? "__error" : "__errno_location") as "__errno_location"

const SYMBOLS = {
  [ERRNO]: { args: [], returns: "ptr" },
  flock: { args: ["i32", "i32"], returns: "i32" },
  poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
} as const

/** Calls never handle more than 2 GB at once, so `i32` holds every count, and -1. */
const FILE_SYMBOLS = {
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
/** That number. */
let errorNumber = new Int32Array(1)
let isOpened = false

function open(): void {
  isOpened = true
  try {
    // On other systems, flags and structures differ, and open(2) has another calling convention.
    if (process.platform === "linux") whole = first(openWhole)
  } catch {
    // The library is too old for statx (glibc 2.28).
  }
  common = whole ?? first(openCommon)
  errorNumber = new Int32Array(toArrayBuffer(common[ERRNO]()!, 0, 4))
}

function libc(): Common {
  if (!isOpened || common === undefined) open()
  return common!
}

/** The file calls; undefined where they are unavailable. */
export type FileCalls = Pick<Whole, keyof typeof FILE_SYMBOLS>

export function fileCalls(): FileCalls | undefined {
  try {
    libc()
  } catch {
    // Callers that need a lock get the error.
  }
  return whole
}

/**
 * Number of the last error, straight from the C library's memory: a call that asked for it might change it. Read it
 * right after the call that failed, before anything is allocated, because collecting garbage makes calls, too.
 */
export const errno = (): number => errorNumber[0]!

/** Name of an error's number, as in `ENOENT`. */
export function errorName(code: number): string {
  const { errno: numbers } = process.getBuiltinModule("node:os").constants
  return Object.entries(numbers).find(([, number]) => number === code)?.[0] ?? `error ${code}`
}

/** The name in a struct dirent. It follows two 8-byte numbers, the length and the type (readdir(3)). */
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

/**
 * flock(2): tries once to lock an open file, exclusively or shared.
 *
 * @returns false if somebody else holds the lock
 * @throws CtxError `lock-failed` if the file cannot be locked
 */
export function tryLock(fd: number, shared = false): boolean {
  if (process.platform === "win32") return windows().lockNow(fd, shared)
  while (libc().flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) !== 0) {
    const code = errno()
    if (code === EAGAIN) return false
    if (code === EINTR) continue
    throw new CtxError("lock-failed", `files cannot be locked: ${errorName(code)}, flock`, {
      hint: "keep the data folder on a file system with locks: CTXBRIDGE_HOME says where it is",
    })
  }
  return true
}

/** poll(2): waits at most `ms` until something can be read from `fd`, or it is at its end. */
export const readable = (fd: number, ms: number): boolean =>
  process.platform === "win32" ? windows().readable(fd, ms) : isReady(fd, POLLIN, ms)

/** The same until something can be written, or nobody reads any more. Windows cannot tell. */
export const writable = (fd: number, ms: number): boolean =>
  process.platform === "win32" || isReady(fd, POLLOUT, ms)

function isReady(fd: number, events: number, ms: number): boolean {
  // struct pollfd: int fd, short events, short revents
  const request = Int32Array.of(fd, events)
  const end = performance.now() + ms
  for (;;) {
    const found = libc().poll(request, 1, Math.max(0, Math.ceil(end - performance.now())))
    // A signal ends the call early.
    if (found >= 0 || errno() !== EINTR) return found > 0
  }
}

/** Maximum bytes of a path, including the final 0. */
const PATH_MAX = 4096

/** A call that hooks make rarely or never: opened separately, when it is first needed. */
export const seldomCalled = <const F extends FFIFunction>(name: string, call: F) =>
  once(() => first((library) => dlopen(library, { [name]: call })).symbols[name]!)

const openRealpath = () => seldomCalled("realpath", { args: ["ptr", "ptr"], returns: "ptr" })
let realpathOf: ReturnType<typeof openRealpath> | undefined

/**
 * realpath(3).
 *
 * @param path ends with a 0 byte
 * @returns undefined when the file does not exist or cannot be looked up
 */
export function realPath(path: Uint8Array): string | undefined {
  const into = new Uint8Array(PATH_MAX)
  realpathOf ??= openRealpath()
  return realpathOf()(path, into) === null ? undefined : new CString(ptr(into)).toString()
}

/**
 * setenv(3): sets a variable for libraries that are loaded later. Assigning to `process.env` only reaches JavaScript
 * and child processes.
 */
export function setVariable(name: string, value: string): void {
  const failed = (): CtxError => new CtxError("setenv", `cannot set ${name}`)
  if (process.platform === "win32") {
    if (!windows().setVariable(name, value)) throw failed()
    return
  }
  const bytes = (text: string): Uint8Array => Buffer.from(`${text}\0`)
  const setenv = seldomCalled("setenv", { args: ["ptr", "ptr", "i32"], returns: "i32" })()
  if (setenv(bytes(name), bytes(value), 1) !== 0) throw failed()
}

/*
 * What Windows has for the calls of libc.ts. Not tied to one descriptor's process-wide state: a lock ends with its handle,
 * as flock's does (docs/adr/0031).
 */

const LOCKFILE_FAIL_IMMEDIATELY = 1
const LOCKFILE_EXCLUSIVE_LOCK = 2
const ERROR_LOCK_VIOLATION = 33
/** ms between two looks at a pipe. */
const LOOK = 1

interface WindowsCalls {
  /** As `tryLock` of libc.ts. */
  readonly lockNow: (fd: number, shared: boolean) => boolean
  /** As `readable` of libc.ts; what is no pipe always is. */
  readonly readable: (fd: number, ms: number) => boolean
  /** @returns whether it could be set */
  readonly setVariable: (name: string, value: string) => boolean
}

/**
 * @param open `dlopen` of bun:ffi
 * @param program path of our own
 */
function windowsCalls(open: typeof import("bun:ffi").dlopen, program: string): WindowsCalls {
  const { GetLastError, LockFileEx, PeekNamedPipe, SetEnvironmentVariableW } = open("kernel32.dll", {
    GetLastError: { args: [], returns: "u32" },
    LockFileEx: { args: ["u64", "u32", "u32", "u32", "u32", "ptr"], returns: "i32" },
    PeekNamedPipe: { args: ["u64", "ptr", "u32", "ptr", "ptr", "ptr"], returns: "i32" },
    SetEnvironmentVariableW: { args: ["ptr", "ptr"], returns: "i32" },
  }).symbols
  // Descriptors are libuv's, which every Bun program exports.
  const { uv_get_osfhandle: handleOf } = open(program, {
    uv_get_osfhandle: { args: ["i32"], returns: "u64" },
  }).symbols
  // struct OVERLAPPED: its offset is that of the byte that is locked. Windows' locks forbid reading and writing, so it is
  // one that no file has.
  const place = new Uint32Array(8)
  place[4] = 0xffff_fffe
  place[5] = 0x7fff_ffff
  const waiting = new Uint32Array(1)
  return {
    lockNow(fd, shared) {
      const flags = LOCKFILE_FAIL_IMMEDIATELY | (shared ? 0 : LOCKFILE_EXCLUSIVE_LOCK)
      if (LockFileEx(handleOf(fd), flags, 0, 1, 0, place) !== 0) return true
      const code = GetLastError()
      if (code === ERROR_LOCK_VIOLATION) return false
      throw new CtxError("lock-failed", `files cannot be locked: error ${code}, LockFileEx`, {
        hint: "keep the data folder on a drive with locks: CTXBRIDGE_HOME says where it is",
      })
    },
    readable(fd, ms) {
      const end = performance.now() + ms
      for (;;) {
        // It also fails at the end of a pipe.
        if (PeekNamedPipe(handleOf(fd), null, 0, null, waiting, null) === 0 || waiting[0]! > 0) return true
        if (performance.now() >= end) return false
        Bun.sleepSync(LOOK)
      }
    },
    setVariable: (name, value) => SetEnvironmentVariableW(wide(name), wide(value)) !== 0,
  }
}

const wide = (text: string): Uint8Array => Buffer.from(`${text}\0`, "utf16le")
