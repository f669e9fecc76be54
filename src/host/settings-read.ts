/** What the host's settings files say, read as leniently as possible: reporting what is wrong is up to others. */
import { type HostLimits, hostLimits } from "../config/load.ts"
import { type JsonObject, objectOf } from "../transcript/json.ts"
import { tryTo } from "../util/files.ts"
import { readText } from "./edited-file.ts"
import { type HostFolders, type SettingsScope, settingsFiles } from "./registration.ts"

export interface CommandHook {
  /** The host's name for the event; possibly one that no host knows. */
  readonly event: string
  readonly command: string
  /** As written. The host reads it as seconds, whatever its author had in mind. */
  readonly timeout: number | undefined
}

export interface ScopeSettings {
  readonly scope: SettingsScope
  readonly file: string
  readonly hooks: readonly CommandHook[]
  /** Names of the variables that the host sets for its hooks. */
  readonly variables: readonly string[]
  /** What these variables say of the window and of compactions. */
  readonly limits: HostLimits
  /** Enabled plugins, as `name@marketplace`. */
  readonly plugins: readonly string[]
  /** As written; undefined when absent. */
  readonly cleanupPeriodDays: unknown
  /** Whether this file switches off all hooks, and the status line; undefined when it does not say. */
  readonly disableAllHooks: boolean | undefined
}

/** One entry per existing settings file; a file that is not JSON gets an empty one. */
export function readSettings(places: HostFolders): ScopeSettings[] {
  return settingsFiles(places).flatMap(({ scope, file }) => {
    const text = tryTo(() => readText(file))
    return text === undefined ? [] : [{ scope, file, ...contentOf(text) }]
  })
}

const stringsIn = (object: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, String(value)]))

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function contentOf(text: string): Omit<ScopeSettings, "scope" | "file"> {
  // If it is not JSON, the host ignores the file as well.
  const settings = objectOf(tryTo(() => JSON.parse(text.replace(/^\uFEFF/, ""))))
  const { disableAllHooks } = settings
  const env = objectOf(settings["env"])
  const plugins = Object.entries(objectOf(settings["enabledPlugins"])).filter(([, on]) => on === true)
  return {
    hooks: Object.entries(objectOf(settings["hooks"])).flatMap(([event, groups]) =>
      listOf(groups)
        .flatMap((group) => listOf(objectOf(group)["hooks"]))
        .flatMap((hook) => commandHook(event, objectOf(hook))),
    ),
    variables: Object.keys(env),
    limits: hostLimits(stringsIn(env)),
    plugins: plugins.map(([name]) => name),
    cleanupPeriodDays: settings["cleanupPeriodDays"],
    disableAllHooks: typeof disableAllHooks === "boolean" ? disableAllHooks : undefined,
  }
}

function commandHook(event: string, { command, timeout }: JsonObject): CommandHook[] {
  if (typeof command !== "string") return []
  return [{ event, command, timeout: typeof timeout === "number" ? timeout : undefined }]
}
