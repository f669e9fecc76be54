/** The output file of an export: private, overwrites nothing unasked, and leaves the old file intact on failure. */
import { accessSync, closeSync, constants, existsSync, fstatSync, openSync, rmSync, statSync } from "node:fs"
import { CtxError, codeOf, messageOf } from "../../base/errors.ts"
import { realpathSync, renameSync } from "../../base/fs.ts"
import { writeAll } from "../../base/write-output.ts"

/**
 * Writes all pieces to a new file of mode 0600. With `force`, replaces an existing file, which stays as it was until
 * everything is written. An incomplete new file is removed.
 *
 * @returns the number of bytes
 * @throws CtxError `output`, `exists`; what `pieces` throws
 */
export function writeExport(path: string, pieces: Iterable<Uint8Array>, force: boolean): number {
  const source = pieces[Symbol.iterator]()
  // Read before the file is opened, so that a failed lookup creates no file.
  let next = source.next()
  const { fd, written, place } = open(path, force)
  let size = 0
  let isWhole = false
  try {
    for (; !next.done; next = source.next()) {
      const piece = next.value
      orUnwritable(path, () => writeAll(fd, piece))
      size += piece.length
    }
    if (written !== place) orUnwritable(path, () => renameSync(written, place))
    isWhole = true
  } finally {
    if (!isWhole && fstatSync(fd).isFile()) rmSync(written, { force: true })
    closeSync(fd)
  }
  return size
}

/** For several files: before any is written. */
export function refuseExisting(paths: readonly string[], force: boolean): void {
  const there = force ? undefined : paths.find((path) => existsSync(path))
  if (there !== undefined) throw existing(there)
}

const existing = (path: string): CtxError =>
  new CtxError("exists", `${path} exists`, { hint: "--force replaces it" })

interface Target {
  readonly fd: number
  readonly written: string
  readonly place: string
}

function open(path: string, force: boolean): Target {
  try {
    return { fd: openSync(path, "wx", 0o600), written: path, place: path }
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") throw unwritable(path, cause)
    if (!force) throw existing(path)
  }
  return orUnwritable(path, () => openExisting(path))
}

function openExisting(path: string): Target {
  const kind = statSync(path, { throwIfNoEntry: false })
  // Devices and pipes are written to directly and never replaced; a dangling link is followed.
  if (kind?.isFile() !== true) return { fd: openSync(path, "w", 0o600), written: path, place: path }
  accessSync(path, constants.W_OK)
  const place = realpathSync(path)
  const written = `${place}.${process.pid}.tmp`
  return { fd: openSync(written, "wx", 0o600), written, place }
}

function orUnwritable<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw unwritable(path, cause)
  }
}

const unwritable = (path: string, cause: unknown): CtxError =>
  new CtxError("output", `cannot write ${path}: ${messageOf(cause)}`, {
    hint: "name another file with --output, or check its folder and the free space there",
    cause,
  })
