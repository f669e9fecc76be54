/** What `doctor` of the compiled file finds on a machine. */
import { expect } from "bun:test"
import { run } from "./binary.ts"
import type { Machine } from "./machine.ts"

export interface Found {
  readonly check: string
  readonly state: string
  readonly text: string
  readonly hint?: string
  readonly details: readonly string[]
  readonly repair: string | null
}

/** The findings of one check, after any repairs. */
export async function findings(machine: Machine, check: string, ...args: string[]): Promise<Found[]> {
  const { stdout, stderr } = await run(["doctor", ...args, "--json"], { env: machine.env, cwd: machine.cwd })
  expect(stderr).toBe("")
  const all = (JSON.parse(stdout) as { findings: Found[] }).findings
  return all.filter((one) => one.check === check)
}
