/** Computes the SHA-256 of a file of any length. */
import { closeSync, openSync, readSync } from "node:fs"

/** Bytes read at a time. */
const BLOCK = 1 << 20

export function sha256Of(path: string): string {
  const hasher = new Bun.CryptoHasher("sha256")
  const block = new Uint8Array(BLOCK)
  const fd = openSync(path, "r")
  try {
    for (let read = readSync(fd, block); read > 0; read = readSync(fd, block)) {
      hasher.update(block.subarray(0, read))
    }
  } finally {
    closeSync(fd)
  }
  return hasher.digest("hex")
}
