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

/* Ends a program along with everything it has started. */

/** @param leader id of a process that was started with `ownGroup` */
export function killGroup(leader: number): void {
  try {
    if (process.platform === "win32") Bun.spawnSync(["taskkill", "/T", "/F", "/PID", String(leader)])
    else process.kill(-leader, "SIGKILL")
  } catch {
    // It has just ended.
  }
}

/**
 * Options for such a program. On Windows whoever ends it asks for the tree, and a detached one would open windows for
 * what it starts.
 */
export const ownGroup = process.platform === "win32" ? { windowsHide: true } : { detached: true }

/* Runs a program as Claude Code runs a hook: takes all of its output, and gives it a timeout that it cannot escape. */

/** ms that a program may take to report its version. */
const PATIENCE = 3000
/** ms between two questions. */
const ASK_EVERY = 200

interface ChildRun {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
  /** Whether it was killed, along with everything it had started. */
  readonly late: boolean
  readonly ms: number
}

interface ChildOptions {
  /** ms after which it is killed; undefined: never. */
  readonly timeout?: number
  /** With a timeout: whether to kill it before; asked several times a second. */
  readonly isOver?: () => boolean
  readonly stdin?: string
  readonly cwd?: string
  readonly env?: Record<string, string | undefined>
}

/** With a timeout, in a process group of its own: a killed shell's children would otherwise survive and hold our pipes. */
export async function runChild(command: string[], options: ChildOptions): Promise<ChildRun> {
  const { timeout, isOver, stdin = "", cwd, env } = options
  const start = performance.now()
  const child = Bun.spawn(command, {
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
    ...(timeout === undefined ? {} : ownGroup),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
  })
  let late = false
  const kill = (): void => {
    late = true
    killGroup(child.pid)
  }
  const timer = timeout === undefined ? undefined : setTimeout(kill, timeout)
  const asking = isOver && setInterval(() => isOver() && kill(), ASK_EVERY)
  try {
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { stdout, stderr, code, late, ms: performance.now() - start }
  } finally {
    clearTimeout(timer)
    clearInterval(asking)
  }
}

/** A program's stdout; undefined if it cannot be run, fails, or takes too long. */
export async function output(command: string[]): Promise<string | undefined> {
  try {
    const { stdout, code, late } = await runChild(command, { timeout: PATIENCE })
    return code === 0 && !late ? stdout : undefined
  } catch {
    return undefined
  }
}
