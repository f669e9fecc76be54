/** `prune plugin`: writes the plugin and has Claude Code load it, and takes both away. */
import { mkdirSync, rmSync } from "node:fs"
import { hookStatus } from "../../claude/install/hook-status.ts"
import { originalText, readRecord, removeIfEmpty } from "../../claude/install/install-record.ts"
import { type Ours, register, type SettingsChange, unregister } from "../../claude/install/register.ts"
import type { HostFolders } from "../../claude/install/registration.ts"
import { serverStatus } from "../../claude/install/server-status.ts"
import { settingsPath } from "../../claude/settings/read-settings.ts"
import { targetOf } from "../../util/edited-file.ts"
import { writeWhole } from "../../util/files.ts"
import { isEmptySettings } from "../../util/json-text.ts"
import { dirname, join } from "../../util/path.ts"
import { addPluginFolder, removePluginFolder } from "./plugin-edit.ts"
import { pluginFiles } from "./plugin-files.ts"

interface PluginOptions extends HostFolders {
  /** Work out the change but write nothing. */
  readonly dryRun: boolean
}

export const pluginFolder = ({ dataHome }: Pick<HostFolders, "dataHome">): string => join(dataHome, "plugin")

/** Repeating it brings the files up to date. */
export function setPlugin(options: PluginOptions, exePath: string, version: string): SettingsChange {
  const ours = {
    ...oursIn(options),
    add: (text: string | undefined) => addPluginFolder(text, pluginFolder(options)),
  }
  // A file that cannot be read is told before anything is written.
  const tried = register(ours, { ...placed(options), dryRun: true })
  if (options.dryRun) return tried
  const contents = {
    exePath,
    version,
    hooks: hookStatus(options, exePath).every(
      ({ installed, stale }) => installed.length + stale.length === 0,
    ),
    server: serverStatus(options, exePath).every(({ command }) => command === null),
  }
  for (const [path, text] of pluginFiles(contents)) {
    const file = join(pluginFolder(options), path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeWhole(file, text)
  }
  return register(ours, placed(options))
}

export function revertPlugin(options: PluginOptions): SettingsChange {
  const change = unregister(oursIn(options), placed(options))
  if (!options.dryRun) {
    rmSync(pluginFolder(options), { recursive: true, force: true })
    removeIfEmpty(recordsIn(options))
  }
  return change
}

/** Whether we have named the plugin in the user's settings. */
export const isPluginSet = (places: HostFolders): boolean =>
  readRecord(recordsIn(places), targetOf(settingsPath("user", places))) !== undefined

const recordsIn = (places: HostFolders): string => join(places.dataHome, "prune", "plugin")

const placed = (options: PluginOptions) => ({ dataHome: recordsIn(options), dryRun: options.dryRun })

function oursIn(places: HostFolders): Ours {
  const file = settingsPath("user", places)
  return {
    file,
    folderMode: 0o700,
    isPrivate: true,
    remove: (text) =>
      removePluginFolder(text, pluginFolder(places), originalText(recordsIn(places), targetOf(file))),
    isEmpty: isEmptySettings,
  }
}
