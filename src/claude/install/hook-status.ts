/** Which of our hooks the host would call with its current settings. */
import { existsSync } from "node:fs"
import { readText } from "../../util/edited-file.ts"
import { messageOf } from "../../util/errors.ts"
import { type SettingsScope, settingsFiles } from "../settings/read-settings.ts"
import { HOST_EVENTS } from "./hooks-table.ts"
import type { HostFolders } from "./registration.ts"
import { addHooks } from "./settings-edit.ts"

export interface HookStatus {
  readonly scope: SettingsScope
  readonly file: string
  /** Host events with a sound hook that calls this binary. */
  readonly installed: readonly string[]
  readonly missing: readonly string[]
  /** Events whose hook calls another binary, is damaged, or appears more than once. */
  readonly stale: readonly string[]
  /** Why the file could not be read. */
  readonly problem: string | undefined
}

/** One entry per existing settings file, and always one for the user scope. */
export function hookStatus(places: HostFolders, exePath: string): HookStatus[] {
  return settingsFiles(places)
    .filter(({ scope, file }) => scope === "user" || existsSync(file))
    .map(({ scope, file }) => ({ scope, file, ...look(file, exePath) }))
}

function look(file: string, exePath: string): Omit<HookStatus, "scope" | "file"> {
  try {
    // Whatever an install would change is not as it should be, but for what is only shown.
    const { added, replaced } = addHooks(readText(file), exePath, false)
    const installed = HOST_EVENTS.filter((event) => !added.includes(event) && !replaced.includes(event))
    return { installed, missing: added, stale: replaced, problem: undefined }
  } catch (error) {
    return { installed: [], missing: [...HOST_EVENTS], stale: [], problem: messageOf(error) }
  }
}
