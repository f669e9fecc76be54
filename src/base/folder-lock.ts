/** The lock on a folder, which leaves nothing in it. */
import { tmpdir } from "node:os"
import { openSync } from "./fs.ts"
import { hashName } from "./json-files.ts"
import { openLock } from "./lock.ts"
import { join } from "./path.ts"

/**
 * Opens what `lock` locks in place of the folder: the folder itself or, on Windows, whose folders cannot be locked, an
 * empty file among the user's temporary ones.
 */
export const openForLock = (folder: string): number =>
  process.platform === "win32"
    ? openLock(join(tmpdir(), `ctxbridge-${hashName(folder)}.lock`))
    : openSync(folder, "r")
