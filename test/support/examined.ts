/** What single checks of `doctor` find, without processes: none of these starts one. */
import type { Finding, Patient } from "../../src/cli/doctor/finding.ts"
import { folderChecks } from "../../src/cli/doctor/folder-checks.ts"
import { installedChecks } from "../../src/cli/doctor/registration-checks.ts"
import { transcriptChecks } from "../../src/cli/doctor/transcript-checks.ts"
import { vaultChecks } from "../../src/cli/doctor/vault-checks.ts"
import { databaseChecks } from "../../src/cli/doctor/views-checks.ts"
import { environmentOf } from "./inside.ts"
import type { Machine } from "./machine.ts"

const CHECKS = {
  database: databaseChecks,
  lines: databaseChecks,
  vault: vaultChecks,
  archived: transcriptChecks,
  "clean-up": transcriptChecks,
  private: folderChecks,
  owner: folderChecks,
  space: folderChecks,
  leftovers: folderChecks,
  hooks: installedChecks,
  settings: installedChecks,
} as const

function patientOf(machine: Machine, deep: boolean): Patient {
  return {
    ...environmentOf(machine),
    version: "0.0.0",
    variables: Object.keys(machine.env),
    now: Date.now(),
    deep,
    spool: { files: 0, bytes: 0 },
    progress: () => undefined,
  }
}

/** The findings of one check; with `--fix` what its repairs leave, with `--deep` after a look at every byte. */
export async function findings(
  machine: Machine,
  name: keyof typeof CHECKS,
  ...args: readonly ("--fix" | "--deep")[]
): Promise<Finding[]> {
  const look = (): Finding[] =>
    CHECKS[name](patientOf(machine, args.includes("--deep"))).filter(({ check }) => check === name)
  const found = look()
  if (!args.includes("--fix")) return found
  for (const { repair } of found) await repair?.run()
  return look()
}

export const states = async (...[machine, name, ...args]: Parameters<typeof findings>): Promise<string[]> =>
  (await findings(machine, name, ...args)).map(({ state }) => state)
