/** Where this user's host files are, and which of our hooks its settings contain. */
import { constants } from "node:fs"
import { claudeCode } from "../agents/claude-code/claude-code.ts"
import { type OurHookCommand, readOurHook } from "../host/hooks-table.ts"
import type { SettingsScope } from "../host/registration.ts"
import { type CommandHook, readSettings } from "../host/settings-read.ts"
import { tryTo } from "../util/files.ts"
import { realpathSync } from "../util/fs.ts"
import type { Patient } from "./finding.ts"
import { isAllowed } from "./folder-checks.ts"

/** One of our hooks, as written in a settings file; `binary` is an absolute path if it can be found. */
export interface InstalledHook extends CommandHook, OurHookCommand {
  readonly scope: SettingsScope
}

export function ourHooks(patient: Patient): InstalledHook[] {
  return readSettings(patient).flatMap(({ scope, hooks }) =>
    hooks.flatMap(({ event, command, timeout }) => {
      const read = readOurHook(command, patient.home)
      if (read === undefined) return []
      const { binary, variables } = read
      const file = binary.includes("/") ? binary : (Bun.which(binary) ?? binary)
      return [{ scope, event, command, timeout, binary: file, variables }]
    }),
  )
}

/** The path with links resolved; undefined if there is no such file. */
export const realFile = (path: string): string | undefined => tryTo(() => realpathSync(path))

export const isExecutable = (path: string): boolean => isAllowed(path, constants.X_OK)

/** Where the host keeps this user's transcripts. */
export const projectsOf = ({ claudeDir }: Patient): string => claudeCode.places.transcripts(claudeDir)
