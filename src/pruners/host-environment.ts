/**
 * The environment in which Claude Code works: its settings files' `env`, the narrowest file first, and then the
 * variables it was started with. Observed in 2.0.76, 2.1.112 and 2.1.330. What an organisation manages is not read.
 */
import { hostVariable, variablesSet } from "../config/load.ts"
import { readText } from "../host/edited-file.ts"
import { type HostFolders, type SettingsScope, settingsFiles } from "../host/registration.ts"
import { objectOf } from "../transcript/json.ts"
import { tryTo } from "../util/files.ts"
import { parseJson } from "../util/parse-json.ts"

export interface HostEnvironment {
  /** The names that are set, anywhere. */
  readonly names: ReadonlySet<string>
  /** Every value, the one that counts first. */
  readonly extraBody: readonly HostValue[]
  readonly baseUrl: readonly HostValue[]
}

export interface HostValue {
  readonly value: string
  readonly from: SettingsScope | "environment"
}

export function hostEnvironment(places: HostFolders): HostEnvironment {
  const files = settingsFiles(places)
    .map(({ scope, file }) => ({ scope, env: envIn(tryTo(() => readText(file))) }))
    .toReversed()
  const valuesOf = (name: Parameters<typeof hostVariable>[0]): HostValue[] => {
    const set = [
      ...files.map(({ scope, env }) => ({ from: scope, value: env[name] })),
      { from: "environment" as const, value: hostVariable(name) },
    ]
    return set.flatMap(({ from, value }) => (value === undefined ? [] : [{ from, value }]))
  }
  return {
    names: new Set([...files.flatMap(({ env }) => Object.keys(env)), ...variablesSet()]),
    extraBody: valuesOf("CLAUDE_CODE_EXTRA_BODY"),
    baseUrl: valuesOf("ANTHROPIC_BASE_URL"),
  }
}

/** Without those that are blank. A file that is no JSON is ignored by Claude Code, too. */
function envIn(text: string | undefined): Record<string, string> {
  const env = objectOf(objectOf(parseJson((text ?? "").replace(/^\uFEFF/, "")))["env"])
  const strings = Object.entries(env).map(([name, value]) => [name, String(value)] as const)
  return Object.fromEntries(strings.filter(([, value]) => value !== ""))
}
