/**
 * What Windows has for the calls of libc.ts. Not tied to one descriptor's process-wide state: a lock ends with its handle,
 * as flock's does (docs/adr/0031).
 */
import { CtxError } from "./errors.ts"

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
export function windowsCalls(open: typeof import("bun:ffi").dlopen, program: string): WindowsCalls {
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
