/** Default locations of other tools' archives. */
import { join } from "node:path"
import { statsOf } from "../util/files.ts"

export function archivesInPlace({ home, cwd }: { home: string; cwd: string }): string[] {
  const flow = join(cwd, ".claude-flow", "data", "transcript-archive")
  const places = [
    join(home, ".claude-mem", "claude-mem.db"),
    join(home, ".claude", "memory.db"),
    `${flow}.db`,
    `${flow}.json`,
  ]
  return places.filter((path) => statsOf(path)?.isFile() === true)
}
