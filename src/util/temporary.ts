/** Folders for a command's own work, which are gone when it has ended: also by Ctrl-C, and at the latest when it is called again. */
import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isAlive } from "./alive.ts"
import { tryTo } from "./files.ts"
import { killAll, processesIn } from "./processes.ts"

export interface TemporaryFolder extends Disposable {
  /** Absolute, without links. */
  readonly path: string
}

/** Those of this process, and how each is removed. */
const open = new Map<string, () => void>()

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/**
 * Makes an empty folder that nobody else may enter. A signal is heard between two steps only: who works long without waiting
 * for anything calls `untilHeard` now and then.
 *
 * @param purpose a word of small letters, for its name
 * @param before called before it is removed, to end what still works in it
 */
export function temporaryFolder(purpose: string, before: () => void = () => {}): TemporaryFolder {
  const start = `ctxbridge-${purpose}-`
  removeLeft(start)
  // Before it is there: a signal that comes now is heard when we have noted it.
  if (open.size === 0) listen()
  const path = made(start)
  open.set(path, () => {
    tryTo(before)
    // Whoever works in it may write while we remove.
    tryTo(() => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  })
  return { path, [Symbol.dispose]: () => remove(path) }
}

function made(start: string): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), `${start}${process.pid}-`)))
  } catch (error) {
    if (open.size === 0) listenNoMore()
    throw error
  }
}

/** Lets a signal that has come be heard. */
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
  for (const path of open.keys()) tryTo(() => endAll(path))
  removeAll()
  // As if nobody had listened.
  process.kill(process.pid, signal)
}

/** What we have started there may go on without us, and would make the folder anew. */
function endAll(path: string): void {
  for (let round = 0, quiet = 0; round < ROUNDS && quiet < 2; round++) {
    const found = processesIn(path)
    killAll(found)
    quiet = found.length === 0 ? quiet + 1 : 0
    Bun.sleepSync(PAUSE)
  }
}

/** One that is being started while we look, or starts another, is found the next time. */
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

/** What killed processes of this user have left: in a folder that belongs to everybody, only what is ours. */
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
