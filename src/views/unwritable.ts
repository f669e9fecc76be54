/** Explains errors of a data folder that cannot be written, in words that a person can act on. */
import { CtxError, codeOf, messageOf } from "../base/errors.ts"
import { mkdirSync, rmSync } from "../base/fs.ts"
import { withLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"

const FULL = ["ENOSPC", "EDQUOT", "EFBIG", "SQLITE_FULL"]
const REFUSED = ["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "SQLITE_READONLY", "SQLITE_CANTOPEN"]

/** @returns undefined if the error is about something else */
export function cannotWrite(error: unknown, dataHome: string): CtxError | undefined {
  const code = codeOf(error)
  const isFull = FULL.includes(code)
  const isRefused = REFUSED.some((one) => code === one || code.startsWith(`${one}_`))
  const path = (error as { path?: unknown } | null)?.path
  if (!isFull && !isRefused) return undefined
  // SQLite names no path, but it opens nothing except the archive.
  if (typeof path === "string" && path !== dataHome && !path.startsWith(`${dataHome}/`)) {
    if (!dataHome.startsWith(`${path}/`)) return undefined
  }
  return new CtxError("data-unwritable", `cannot use ${dataHome}: ${messageOf(error)}`, {
    hint: isFull
      ? "make room there; what hooks archive meanwhile is spooled and moves over by itself"
      : "check its owner and mode; what hooks archive meanwhile is spooled and moves over by itself",
    cause: error,
  })
}

/**
 * Tries to write there, for commands that would otherwise fail at each file.
 *
 * @throws CtxError `data-unwritable`, `lock-failed`
 */
export function refuseUnwritable(dataHome: string): void {
  try {
    mkdirSync(dataHome, { recursive: true, mode: 0o700 })
    probe(dataHome)
  } catch (error) {
    throw cannotWrite(error, dataHome) ?? error
  }
}

/** Makes a file there, locks it, and removes it. Throws if that fails. */
export function probe(dataHome: string): void {
  const file = join(dataHome, `probe.${process.pid}`)
  const nothing = (): void => {}
  try {
    withLockFile(file, 0, nothing, nothing)
  } finally {
    rmSync(file, { force: true })
  }
}
