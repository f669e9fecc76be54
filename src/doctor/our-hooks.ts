/** Where the host's files are for this user, and which hooks of ours stand in its settings. */
import { accessSync, constants, realpathSync } from "node:fs"
import { join } from "node:path"
import { readOurHook } from "../host/hooks-table.ts"
import type { Scope } from "../host/install.ts"
import { readSettings, type ScopeSettings } from "../host/settings-read.ts"
import type { Patient } from "./finding.ts"

/** One hook of ours as a settings file has it. */
export interface InstalledHook {
  readonly scope: Scope
  readonly event: string
  readonly command: string
  readonly timeout: number | undefined
  /** Absolute path of what it calls, as far as that can be told. */
  readonly binary: string
  /** Names of the variables that the command sets. */
  readonly variables: readonly string[]
}

export const placesOf = ({ home, claudeDir, hostConfig, cwd, dataHome }: Patient) => ({
  home,
  configDir: claudeDir,
  hostConfig,
  cwd,
  dataHome,
})

export const settingsOf = (patient: Patient): ScopeSettings[] => readSettings(placesOf(patient))

export function ourHooks(patient: Patient): InstalledHook[] {
  return settingsOf(patient).flatMap(({ scope, hooks }) =>
    hooks.flatMap(({ event, command, timeout }) => {
      const read = readOurHook(command, patient.home)
      if (read === undefined) return []
      const { binary, variables } = read
      const file = binary.includes("/") ? binary : (Bun.which(binary) ?? binary)
      return [{ scope, event, command, timeout, binary: file, variables }]
    }),
  )
}

/** The file itself, through links; undefined where there is none. */
export function realFile(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Where the host keeps this user's transcripts. */
export const projectsOf = ({ claudeDir }: Patient): string => join(claudeDir, "projects")
