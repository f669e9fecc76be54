/**
 * Finds the processes that work in a folder. Background jobs have no parent to ask, so they are found by their
 * environment.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { basename } from "node:path"

/** Ids of this user's processes whose environment contains `word`, except our own. */
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

/** How long, in ms, a process may have no environment. */
const LOADING = 2000

/**
 * A process exists before its new program has an environment: for a moment it has a program and nothing else. A process
 * that has ended has no program either, so this throws.
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

/** Sends SIGKILL to each by its id. */
export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It ended by itself.
    }
  }
}
