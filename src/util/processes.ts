/** Processes that work in a folder: background jobs are nobody's child, so they are found by their environment. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { basename } from "node:path"

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
      return environmentOf(name).includes(word)
    } catch {
      return false
    }
  }
  return names.filter(holds).map(Number)
}

/** ms for which a process may be without an environment. */
const LOADING = 2000

/**
 * Who starts a process is told so before the new program has its environment: for a moment, there is a program and
 * nothing else. What has ended has no program either, and throws.
 */
function environmentOf(pid: string): string {
  const end = performance.now() + LOADING
  for (;;) {
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8")
    if (environment !== "" || performance.now() >= end) return environment
    const program = readlinkSync(`/proc/${pid}/exe`)
    if (program !== process.execPath && basename(program) !== "ctxbridge") return environment
    Bun.sleepSync(1)
  }
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
