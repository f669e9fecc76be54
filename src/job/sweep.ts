/** When a project's folder was last looked through for transcripts that no hook reported. */
import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const EVERY = 60 * 60_000

/** At most once an hour for a folder; asking claims the turn. */
export function sweepDue(folder: string, stateHome: string, now: number): boolean {
  const name = Bun.hash.xxHash64(folder, 0n).toString(16)
  const stamp = join(stateHome, "swept", name)
  const last = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (now - last < EVERY && last <= now) return false
  mkdirSync(join(stateHome, "swept"), { recursive: true, mode: 0o700 })
  writeFileSync(stamp, "", { mode: 0o600 })
  return true
}
