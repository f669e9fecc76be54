/**
 * Folders for a command's own work. They are removed when it ends, also by Ctrl-C, and at the latest when it is called
 * again.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { CtxError, messageOf } from "./errors.ts"
import { tryTo } from "./files.ts"
import { realpathSync } from "./fs.ts"
import { isAlive } from "./own-program.ts"
import { join } from "./path.ts"
import { killAll, processesIn } from "./processes.ts"

export interface TemporaryFolder extends Disposable {
  /** Absolute, without links. */
  readonly path: string
}

/** This process's folders, and how each is removed. */
const open = new Map<string, () => void>()

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/**
 * Makes an empty folder that no one else may enter. Signals are only handled between asynchronous steps, so code that
 * works long without waiting should call `untilHeard` now and then.
 *
 * @param purpose a lower-case word for the folder's name
 * @param before called with the folder before it is removed, to end what still works in it
 * @throws CtxError
 */
export function temporaryFolder(purpose: string, before: (path: string) => void = () => {}): TemporaryFolder {
  const start = `ctxbridge-${purpose}-`
  removeLeft(start)
  // Listen before the folder exists: a signal that arrives now is handled once the folder is registered.
  if (open.size === 0) listen()
  const path = made(start)
  open.set(path, () => {
    tryTo(() => before(path))
    // Others may still write to it while we remove it.
    tryTo(() => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  })
  return { path, [Symbol.dispose]: () => remove(path) }
}

function made(start: string): string {
  try {
    return newFolder(`${start}${process.pid}-`)
  } catch (error) {
    if (open.size === 0) listenNoMore()
    throw error
  }
}

/**
 * Makes an empty folder among the temporary files, which stays.
 *
 * @param start how its name begins
 * @throws CtxError
 */
export function newFolder(start: string): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), start)))
  } catch (cause) {
    throw new CtxError("no-temporary", `no folder can be made in ${tmpdir()}: ${messageOf(cause)}`, {
      hint: "set TMPDIR to a folder that exists and is yours to write to",
      cause,
    })
  }
}

/** Lets a pending signal be handled. */
export const untilHeard = (): Promise<void> => Bun.sleep(0)

function remove(path: string): void {
  open.get(path)?.()
  open.delete(path)
  if (open.size === 0) listenNoMore()
}

const removeAll = (): void => {
  for (const path of [...open.keys()]) remove(path)
}

function interrupted(signal: NodeJS.Signals): void {
  for (const path of open.keys()) tryTo(() => endProcessesIn(path))
  removeAll()
  // End as if we had not listened.
  process.kill(process.pid, signal)
}

/** Processes that we started there may outlive us and would recreate the folder. */
export function endProcessesIn(path: string): void {
  for (let round = 0, quiet = 0; round < ROUNDS && quiet < 2; round++) {
    const found = processesIn(path)
    killAll(found)
    quiet = found.length === 0 ? quiet + 1 : 0
    Bun.sleepSync(PAUSE)
  }
}

/** A process that is starting while we look, or starts another, is found in the next round. */
const ROUNDS = 8
/** ms between two looks. */
const PAUSE = 5

function listen(): void {
  process.on("exit", removeAll)
  for (const signal of SIGNALS) process.on(signal, interrupted)
}

function listenNoMore(): void {
  process.off("exit", removeAll)
  for (const signal of SIGNALS) process.off(signal, interrupted)
}

/**
 * Removes what killed processes of this user left. The folder is shared with everyone, so only what is ours is removed.
 */
function removeLeft(start: string): void {
  tryTo(() => {
    for (const name of readdirSync(tmpdir())) {
      const [, pid] = (name.startsWith(start) && /^(\d+)-\w{6}$/.exec(name.slice(start.length))) || []
      if (pid === undefined || isAlive(Number(pid))) continue
      const path = join(tmpdir(), name)
      tryTo(() => {
        const stats = lstatSync(path)
        if (stats.isDirectory() && stats.uid === process.getuid?.())
          rmSync(path, { recursive: true, force: true })
      })
    }
  })
}
