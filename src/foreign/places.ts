/** Where the archives of other tools stand by default. */
import { statSync } from "node:fs"
import { join } from "node:path"

export function archivesInPlace({ home, cwd }: { home: string; cwd: string }): string[] {
  const flow = join(cwd, ".claude-flow", "data", "transcript-archive")
  const places = [
    join(home, ".claude-mem", "claude-mem.db"),
    join(home, ".claude", "memory.db"),
    `${flow}.db`,
    `${flow}.json`,
  ]
  return places.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
}
