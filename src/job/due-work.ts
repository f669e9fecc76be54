/** Limits how often slow work is done, such as searching a folder for transcripts that no hook has reported. */
import { mkdirSync, statSync, writeFileSync } from "../base/fs.ts"
import { hashName } from "../base/json-files.ts"
import { join } from "../base/path.ts"

const HOUR = 60 * 60_000
const DAY = 24 * HOUR

/** True at most once an hour per folder. Asking counts as doing it. */
export const sweepDue = (folder: string, stateHome: string, now: number): boolean =>
  isDue(hashName(folder), HOUR, stateHome, now)

/** Whether to check every page of the database: at most once a day. */
export const probeDue = (stateHome: string, now: number): boolean => isDue("probe", DAY, stateHome, now)

/** Whether to check every vector: at most once a day. */
export const vectorsDue = (stateHome: string, now: number): boolean => isDue("vectors", DAY, stateHome, now)

/** Whether to look after every transcript that the views know: at most once a day. */
export const allDue = (stateHome: string, now: number): boolean => isDue("all", DAY, stateHome, now)

/** Whether to note every copy in the vault's list: at most once a day. */
export const listDue = (stateHome: string, now: number): boolean => isDue("list", DAY, stateHome, now)

function isDue(name: string, every: number, stateHome: string, now: number): boolean {
  const stamp = join(stateHome, "swept", name)
  const last = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (now - last < every && last <= now) return false
  mkdirSync(join(stateHome, "swept"), { recursive: true, mode: 0o700 })
  writeFileSync(stamp, "", { mode: 0o600 })
  return true
}
