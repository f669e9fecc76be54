/** Plugins of ours that Claude Code has enabled. Their hooks call us unless settings have hooks of ours. */
import type { HostFolders } from "./registration.ts"
import { readSettings } from "./settings-read.ts"

/** As `name@marketplace`. */
export const ourPlugins = (places: HostFolders): string[] => [
  ...new Set(
    readSettings(places).flatMap(({ plugins }) => plugins.filter((name) => /^ctxbridge(@|$)/.test(name))),
  ),
]
