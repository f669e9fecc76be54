/** Tells at a glance that nothing has been written to the views: looking at every turn takes a second for 100,000. */
import { statsOf } from "../base/files.ts"
import { databasePath } from "./database.ts"

/** ms within which two writes may leave the same time behind. */
const TOO_RECENT = 2000

/** @returns undefined if they have just been written to, or are not there */
export function viewsStamp(dataHome: string, now: number): string | undefined {
  const files = [databasePath(dataHome), `${databasePath(dataHome)}-wal`].map((path) => statsOf(path))
  if (
    files[0] === undefined ||
    files.some((stats) => stats !== undefined && stats.mtimeMs > now - TOO_RECENT)
  )
    return undefined
  return files.map((stats) => `${stats?.ino} ${stats?.size} ${stats?.mtimeMs}`).join()
}
