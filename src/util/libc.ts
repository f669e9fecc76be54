/**
 * Calls of the C library that neither Bun nor Node has: a lock that dies with its holder, waiting for input with a
 * deadline, and an environment that libraries see. The only importer of bun:ffi (0.2 ms to load).
 */
import { dlopen, ptr } from "bun:ffi"
import { CtxError } from "./errors.ts"

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

type Library = ReturnType<typeof openCommon>
const openCommon = (name: string) => dlopen(name, SYMBOLS).symbols

let loaded: Library | undefined

function libc(): Library {
  loaded ??= first(openCommon)
  return loaded
}

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
  const request = new Uint8Array(8)
  const view = new DataView(request.buffer)
  view.setInt32(0, fd, true)
  view.setInt16(4, POLLIN, true)
  return libc().poll(ptr(request), 1, Math.max(0, Math.ceil(ms))) > 0
}

/**
 * setenv(3): a variable for libraries that are loaded from here on. What is assigned to `process.env` reaches only
 * JavaScript and children.
 */
export function setVariable(name: string, value: string): void {
  const bytes = (text: string): Uint8Array => Buffer.from(`${text}\0`)
  // Opened apart: hooks need the calls above only.
  const { setenv } = first((library) =>
    dlopen(library, { setenv: { args: ["ptr", "ptr", "i32"], returns: "i32" } }),
  ).symbols
  if (setenv(bytes(name), bytes(value), 1) !== 0) throw new CtxError("setenv", `cannot set ${name}`)
}
