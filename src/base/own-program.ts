/** Where our own program is, for whoever starts it again. */
import { codeOf } from "./errors.ts"
import { fromSystem } from "./path.ts"

/** What Linux puts behind the path of a running program whose file has been replaced. */
const REPLACED = " (deleted)"

/** After an update, the new program is at the old one's path. */
export function ownProgram(path = process.execPath): string {
  return path.endsWith(REPLACED) ? path.slice(0, -REPLACED.length) : fromSystem(path)
}

/** Whether a path or a command's word names a program of ours, wherever it is. */
export const isOurBinary = (path: string): boolean => /(?:^|[\\/])ctxbridge(?:\.exe)?$/i.test(path)

/* Tells whether a process is still running. If not, files named after it were left behind. */

/** @param pid as read from a file's name; anything that is not a process id counts as not running */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It belongs to another user, so it is running.
    return codeOf(error) === "EPERM"
  }
}

/* Ends programs that people wait for, at once. All output must have been written before. */

/**
 * `process.exit()` first notifies its listeners. There are none, yet it costs 0.6 ms, a sixth of an empty program
 * (docs/adr/0013). `reallyExit`, which Node and Bun call underneath, skips that.
 */
export function endWith(code: number): never {
  const { reallyExit } = process as { reallyExit?: (code: number) => never }
  reallyExit?.call(process, code)
  process.exit(code)
}

/** Ends a hook or the status line with exit code 0, whatever happened. */
export const endNow = (): never => endWith(0)

/*
 * Controls when the engine compiles what it runs. It does so in separate threads, but these take memory and CPU time,
 * and a process that ends after a few milliseconds gains little from it (docs/adr/0013).
 */

/**
 * How many times more often than usual code must run before it is compiled. Searches stay below this; long work exceeds
 * it.
 */
const LATE = 50

export const compileLate = (): void => Bun.unsafe.setJITPolicy(LATE)

export const compileAsUsual = (): void => Bun.unsafe.setJITPolicy(1)
