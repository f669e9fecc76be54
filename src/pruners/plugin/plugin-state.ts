/** Whether a program lets plugins answer compactions, and whether ours does. */

import { existsSync } from "node:fs"
import type { Installed } from "../../claude/install/installed-clients.ts"
import type { HostFolders } from "../../claude/install/registration.ts"
import { variable } from "../../claude/install/settings-variable.ts"
import { settingsPath } from "../../claude/settings/read-settings.ts"
import { ASKS_PLUGINS, atLeast } from "../../claude/versions.ts"
import { readText } from "../../util/edited-file.ts"
import { tryTo } from "../../util/files.ts"
import { join } from "../../util/path.ts"
import type { WayState } from "../way.ts"
import { PLUGIN_DIRS } from "./plugin-edit.ts"
import { pluginFolder } from "./set-plugin.ts"

export function pluginWay({ version }: Installed, places: HostFolders): WayState {
  const folder = pluginFolder(places)
  const settings = tryTo(() => readText(settingsPath("user", places)))
  const folders = tryTo(() => variable(settings ?? "", PLUGIN_DIRS)) ?? ""
  const isSet = folders.split(":").includes(folder)
  const isThere = existsSync(join(folder, "hooks", "compact.mjs"))
  return {
    way: "plugin",
    ...(!atLeast(version, ASKS_PLUGINS) && {
      unsupported: `only ${ASKS_PLUGINS.join(".")} and later ask plugins`,
    }),
    isActive: isSet && isThere,
    ...(isSet && {
      detail: isThere ? `loaded from ${folder}` : `${folder} is gone: ctxbridge prune plugin writes it anew`,
    }),
  }
}
