/**
 * Opens the archive for a command or the server. What of the views would take longer to make anew than somebody waits is
 * left to the background job: where no hook is registered, nobody else would start it.
 */
import type { Database } from "../archive/database.ts"
import { openForReading } from "../archive/open-for-reading.ts"
import { tryTo } from "../util/files.ts"
import { spawnJob } from "./spawn.ts"

export const openToRead = (dataHome: string): Database =>
  openForReading(dataHome, () => startRenewing(dataHome))

/** Where no process can be started and nothing written, the archive is still read as it is. */
export const startRenewing = (dataHome: string): void => {
  tryTo(() => spawnJob(dataHome, { transcripts: [], sweep: [], settle: false }))
}
