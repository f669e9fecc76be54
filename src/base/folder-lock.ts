/** The lock on a folder, which leaves nothing in it. */
import { tmpdir } from "node:os"
import { tryTo } from "./files.ts"
import { closeSync, openSync } from "./fs.ts"
import { hashName } from "./json-files.ts"
import { lock, openLock } from "./lock.ts"
import { join } from "./path.ts"

/**
 * Opens what `lock` locks in place of the folder: the folder itself or, on Windows, whose folders cannot be locked, an
 * empty file among the user's temporary ones.
 */
export const openForLock = (folder: string): number =>
  process.platform === "win32"
    ? openLock(join(tmpdir(), `ctxbridge-${hashName(folder)}.lock`))
    : openSync(folder, "r")

/**
 * Runs `work` under the lock of a folder. If there is no such folder, or none that can be locked (NFS wants to write to
 * it), nobody can be kept out.
 *
 * @param wait ms to wait for others
 * @param otherwise what is done if somebody else held it throughout
 */
export function withFolderLock<T>(folder: string, wait: number, work: () => T, otherwise: () => T): T {
  const fd = tryTo(() => openForLock(folder))
  if (fd === undefined) return work()
  try {
    const isHeld = tryTo(() => lock(fd, performance.now() + wait))
    return isHeld === false ? otherwise() : work()
  } finally {
    closeSync(fd)
  }
}
