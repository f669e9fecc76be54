/** What is said, and removed, when an update is interrupted before the binary is replaced. */
import { rmSync } from "node:fs"
import { tryTo } from "../../util/files.ts"
import { writeError } from "../output.ts"

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** @param staged what is removed; a download stays for the next try */
export function untilInterrupted(binary: string, staged: string): Disposable {
  const heard = (signal: NodeJS.Signals): void => {
    tryTo(() => rmSync(staged, { force: true }))
    writeError(`ctxbridge: interrupted; ${binary} is the former one\n`)
    stop()
    // End as if we had not listened.
    process.kill(process.pid, signal)
  }
  const stop = (): void => {
    for (const signal of SIGNALS) process.off(signal, heard)
  }
  for (const signal of SIGNALS) process.on(signal, heard)
  return { [Symbol.dispose]: stop }
}
