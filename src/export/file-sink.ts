/** A file that an export goes to: private, and never over another one unasked. */
import { closeSync, fchmodSync, fstatSync, openSync, rmSync, writeSync } from "node:fs"
import { CtxError, codeOf } from "../util/errors.ts"

/**
 * Writes all pieces to a new file of mode 0600, or over an existing one if `force`. What could not be written whole
 * is removed.
 *
 * @returns the number of bytes
 */
export function writeExport(path: string, pieces: Iterable<Uint8Array>, force: boolean): number {
  const source = pieces[Symbol.iterator]()
  // Before the file is opened: what cannot be found must not empty an existing one.
  let next = source.next()
  const fd = open(path, force)
  const isFile = fstatSync(fd).isFile()
  let size = 0
  try {
    if (isFile) fchmodSync(fd, 0o600)
    for (; !next.done; next = source.next()) {
      const piece = next.value
      for (let done = 0; done < piece.length; ) done += writeSync(fd, piece, done)
      size += piece.length
    }
  } catch (error) {
    if (isFile) rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
  return size
}

function open(path: string, force: boolean): number {
  try {
    return openSync(path, force ? "w" : "wx", 0o600)
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") {
      throw new CtxError("output", `cannot write ${path}: ${(cause as Error).message}`, { cause })
    }
    throw new CtxError("exists", `${path} exists`, { hint: "--force writes over it", cause })
  }
}
