/** Plugins of ours that Claude Code has enabled. Their hooks call us unless settings have hooks of ours. */
import { pluginsOf, readSettings, type SettingsPlaces } from "../settings/read-settings.ts"

/** As `name@marketplace`. */
export const ourPlugins = (places: SettingsPlaces): string[] => [
  ...new Set(
    readSettings(places).flatMap((file) => pluginsOf(file).filter((name) => /^ctxbridge(@|$)/.test(name))),
  ),
]
