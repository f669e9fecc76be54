/**
 * Finds the processes that work in a folder. Background jobs have no parent to ask, so they are found by their
 * environment.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { basename } from "./path.ts"

/**
 * Ids of this user's processes whose environment contains `word`, except our own. Windows shows nobody's environment, so
 * there none is found.
 *
 * @param proc where the system describes processes; without it, BSD's ps is asked, which prints the environment as well
 */
export function processesIn(word: string, proc = "/proc"): number[] {
  if (process.platform === "win32") return []
  if (!existsSync(`${proc}/self/environ`)) {
    const listed = Bun.spawnSync(["ps", "-axwwE", "-o", "pid=,command="]).stdout.toString()
    return listedWith(word, listed).filter((pid) => pid !== process.pid)
  }
  const names = readdirSync(proc).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const holds = (name: string): boolean => {
    try {
      return environmentOf(`${proc}/${name}`).includes(word)
    } catch {
      return false
    }
  }
  return names.filter(holds).map(Number)
}

/** Ids in what ps printed. It writes a line break as `\n`; a line without an id would be another program's text. */
const listedWith = (word: string, listed: string): number[] =>
  listed
    .split("\n")
    .filter((line) => /^ *\d+ /.test(line) && line.includes(word))
    .map((line) => Number.parseInt(line, 10))

/** How long, in ms, a process may have no environment. */
const LOADING = 2000

/**
 * A process exists before its new program has an environment: for a moment it has a program and nothing else. A process
 * that has ended has no program either, so this throws.
 */
function environmentOf(folder: string): string {
  const end = performance.now() + LOADING
  for (;;) {
    const environment = readFileSync(`${folder}/environ`, "utf8")
    if (environment !== "" || performance.now() >= end) return environment
    const program = readlinkSync(`${folder}/exe`)
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
