/** Holds a lock of the archive, as another process would. */
import { closeSync, openSync } from "node:fs"
import { join } from "node:path"
import { tryLock } from "../../src/base/libc.ts"

/** Runs `work` while a file of the data folder is locked. */
export async function holding<T>(dataHome: string, name: string, work: () => Promise<T>): Promise<T> {
  const fd = openSync(join(dataHome, name), "a", 0o600)
  try {
    if (!tryLock(fd)) throw new Error(`${name} is locked already`)
    return await work()
  } finally {
    closeSync(fd)
  }
}
