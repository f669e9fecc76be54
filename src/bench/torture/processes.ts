/** Processes that work in a folder: background jobs are nobody's child, so they are found by their environment. */
import { existsSync, readdirSync, readFileSync } from "node:fs"

/** Ids of this user's processes in whose environment `word` stands, without our own. */
export function processesIn(word: string): number[] {
  if (!existsSync("/proc/self/environ")) {
    const listed = Bun.spawnSync(["ps", "-axwwE", "-o", "pid=,command="]).stdout.toString()
    const lines = listed.split("\n").filter((line) => line.includes(word))
    return lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid !== process.pid)
  }
  const names = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const holds = (name: string): boolean => {
    try {
      return readFileSync(`/proc/${name}/environ`, "utf8").includes(word)
    } catch {
      return false
    }
  }
  return names.filter(holds).map(Number)
}

/** SIGKILL, to each by its id. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // it has ended by itself
    }
  }
}
