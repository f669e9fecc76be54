/** Where this user's host files are, and which of our hooks its settings contain. */
import { constants } from "node:fs"
import { type OurHookCommand, readOurHook } from "../claude/install/hooks-table.ts"
import { transcriptsFolder } from "../claude/places.ts"
import {
  type CommandHook,
  hooksOf,
  readSettings,
  type SettingsFile,
} from "../claude/settings/read-settings.ts"
import { tryTo } from "../util/files.ts"
import { realpathSync } from "../util/fs.ts"
import type { Patient } from "./finding.ts"
import { isAllowed } from "./folder-checks.ts"

/** One of our hooks, as written in a settings file; `binary` is an absolute path if it can be found. */
export interface InstalledHook extends CommandHook, OurHookCommand {
  readonly scope: SettingsFile["scope"]
}

export function ourHooks(patient: Patient): InstalledHook[] {
  return readSettings(patient).flatMap((file) =>
    hooksOf(file).flatMap(({ event, command, timeout }) => {
      const read = readOurHook(command, patient.home)
      if (read === undefined) return []
      const { binary, variables } = read
      const found = binary.includes("/") ? binary : (Bun.which(binary) ?? binary)
      return [{ scope: file.scope, event, command, timeout, binary: found, variables }]
    }),
  )
}

/** The path with links resolved; undefined if there is no such file. */
export const realFile = (path: string): string | undefined => tryTo(() => realpathSync(path))

export const isExecutable = (path: string): boolean => isAllowed(path, constants.X_OK)

/** Where the host keeps this user's transcripts. */
export const projectsOf = ({ claudeDir }: Patient): string => transcriptsFolder(claudeDir)
