/** Short-lived programs that checks start, with an end that cannot be overslept. */

/** ms that a program gets to say its version. */
const PATIENCE = 3000

export interface ChildRun {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
  /** Whether it was ended, and all that it had started. */
  readonly late: boolean
  readonly ms: number
}

export interface ChildOptions {
  /** ms after which it is ended. */
  readonly timeout: number
  readonly stdin?: string
  readonly cwd?: string
  readonly env?: Record<string, string | undefined>
}

/** In a process group of its own, so that a shell takes its children with it: they would hold our pipes. */
export async function runChild(command: string[], options: ChildOptions): Promise<ChildRun> {
  const { timeout, stdin = "", cwd, env } = options
  const start = performance.now()
  const child = Bun.spawn(command, {
    stdin: Buffer.from(stdin),
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    try {
      process.kill(-child.pid, "SIGKILL")
    } catch {
      // it ended at this moment
    }
  }, timeout)
  try {
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { stdout, stderr, code, late, ms: performance.now() - start }
  } finally {
    clearTimeout(timer)
  }
}

/** What a program prints; undefined when it cannot be run, fails, or takes too long. */
export async function output(command: string[]): Promise<string | undefined> {
  try {
    const { stdout, code, late } = await runChild(command, { timeout: PATIENCE })
    return code === 0 && !late ? stdout : undefined
  } catch {
    return undefined
  }
}
