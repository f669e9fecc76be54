/** What killed processes leave. */
import { mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Machine } from "./machine.ts"

const HOUR = 3600

/** Left two hours ago by a process that has ended. */
export function left(machine: Machine, name: (pid: number) => string, text: string): string {
  const file = join(machine.dataHome, name(Bun.spawnSync(["true"]).pid))
  mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 })
  writeFileSync(file, text, { mode: 0o600 })
  const then = Date.now() / 1000 - 2 * HOUR
  utimesSync(file, then, then)
  return file
}
