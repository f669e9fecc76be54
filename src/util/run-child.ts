/** Runs a program as the host runs a hook: takes all of its output, and gives it a timeout that it cannot escape. */

import { killGroup, ownGroup } from "./kill-group.ts"

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
