/** Our hooks in the host's settings: whether they are there, once, and which binary they call. */
import { accessSync, constants, existsSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { type HookStatus, hookStatus } from "../host/hook-status.ts"
import { isOurHook, readOurHook } from "../host/hooks-table.ts"
import { install, type Scope } from "../host/install.ts"
import { readSettings, type ScopeSettings } from "../host/settings-read.ts"
import { type Finding, finding, type Patient, type Repair } from "./finding.ts"

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

export const placesOf = ({ home, claudeDir, cwd, dataHome }: Patient) => ({
  home,
  configDir: claudeDir,
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

/** Registers our hooks with this very binary. Not in a project's shared file, which is not the user's alone. */
export function reinstall(patient: Patient, scope: Scope): Repair | undefined {
  if (scope === "project") return undefined
  return {
    what: `register the hooks in the ${scope} settings`,
    run: () => void install({ ...placesOf(patient), scope, exePath: patient.exePath }),
  }
}

export function installedChecks(patient: Patient): Finding[] {
  const status = hookStatus(placesOf(patient), patient.exePath)
  const unreadable = status.filter(({ problem }) => problem !== undefined)
  const present = status.filter(({ file }) => existsSync(file))
  const sound = present.length === 0 ? "there is no file yet" : `sound JSON: ${namesOf(present)}`
  return [
    ...unreadable.map(({ scope, problem }) =>
      finding("settings", "fail", `the ${scope} settings cannot be read: ${problem}`, {
        hint: "Claude Code ignores the whole file, hooks and permissions; correct it",
      }),
    ),
    ...(unreadable.length === 0 ? [finding("settings", "ok", sound)] : []),
    ...presence(patient, status),
    ...doubles(patient),
  ]
}

const namesOf = (status: readonly HookStatus[]): string => status.map(({ scope }) => scope).join(", ")

function presence(patient: Patient, status: readonly HookStatus[]): Finding[] {
  const hooks = ourHooks(patient)
  const plugin = pluginsOf(patient)
  if (hooks.length === 0) {
    if (plugin.length > 0) return [finding("hooks", "ok", `registered by the plugin ${plugin[0]}`)]
    if (status.some(({ scope, problem }) => scope === "user" && problem !== undefined)) return []
    const repair = reinstall(patient, "user")
    return [
      finding("hooks", "fail", "no hooks of ctxbridge: nothing is archived by itself", {
        hint: "ctxbridge install",
        ...(repair === undefined ? {} : { repair }),
      }),
    ]
  }
  const found = status
    .filter(({ installed, stale }) => installed.length + stale.length > 0)
    .map((one) => presenceIn(patient, one, hooks))
  return found
}

/** One settings file that has hooks of ours. */
function presenceIn(
  patient: Patient,
  { scope, missing, stale, installed }: HookStatus,
  hooks: readonly InstalledHook[],
): Finding {
  const repair = reinstall(patient, scope)
  const more = { hint: `ctxbridge install --scope ${scope}`, ...(repair === undefined ? {} : { repair }) }
  if (missing.length > 0) {
    return finding("hooks", "fail", `${scope} settings: no hook for ${missing.join(", ")}`, more)
  }
  const broken = stale.filter((event) => !isOther(patient, scope, event, hooks))
  if (broken.length > 0) {
    const text = `${scope} settings: the hook for ${broken.join(", ")} is doubled, limited by a matcher, or has no timeout`
    return finding("hooks", "fail", text, more)
  }
  if (stale.length > 0) {
    return finding(
      "hooks",
      "ok",
      `${scope} settings: all ${stale.length + installed.length}, of another binary`,
    )
  }
  return finding("hooks", "ok", `${scope} settings: all ${installed.length}`)
}

/** Whether nothing is wrong with it but that it calls another binary than this one. */
function isOther(patient: Patient, scope: Scope, event: string, hooks: readonly InstalledHook[]): boolean {
  const own = hooks.filter((one) => one.scope === scope && one.event === event)
  const [hook] = own
  if (own.length !== 1 || hook === undefined || !((hook.timeout ?? 0) > 0)) return false
  return realFile(hook.binary) !== realFile(patient.exePath)
}

const pluginsOf = (patient: Patient): string[] => [
  ...new Set(
    settingsOf(patient).flatMap(({ plugins }) => plugins.filter((name) => /^ctxbridge(@|$)/.test(name))),
  ),
]

/** The host runs equal commands once, different ones side by side: each prompt would then be archived twice. */
function doubles(patient: Patient): Finding[] {
  const hooks = ourHooks(patient)
  const commands = new Map<string, Set<string>>()
  for (const { event, command } of hooks) {
    commands.set(event, (commands.get(event) ?? new Set()).add(command))
  }
  const doubled = [...commands].filter(([, different]) => different.size > 1).map(([event]) => event)
  const scopes = [...new Set(hooks.map(({ scope }) => scope))]
  const found: Finding[] = []
  if (doubled.length > 0) {
    found.push(
      finding("double", "warn", `${doubled.join(", ")}: different hooks of ctxbridge in one host`, {
        hint: `keep one: ctxbridge uninstall --scope ${scopes.at(-1)}, or ctxbridge install`,
        details: [...new Set(hooks.map(({ scope, binary }) => `${scope}: ${binary}`))],
      }),
    )
  }
  const plugins = pluginsOf(patient)
  if (plugins.length > 0 && hooks.length > 0) {
    found.push(
      finding("double", "warn", `the plugin ${plugins[0]} and the settings both register hooks`, {
        hint: `keep one: ctxbridge uninstall --scope ${scopes[0]}`,
      }),
    )
  }
  return found.length > 0 ? found : [finding("double", "ok", "nothing is registered twice")]
}

/** Below the folder of a plugin, or anyone's: hooks whose timeout was meant as milliseconds. */
export function timeoutCheck(patient: Patient): Finding[] {
  const long = settingsOf(patient).flatMap(({ scope, hooks }) =>
    hooks.filter(({ timeout = 0 }) => timeout > LONGEST).map((hook) => ({ scope, ...hook })),
  )
  if (long.length === 0) return [finding("timeouts", "ok", "no hook waits longer than 10 minutes")]
  return [
    finding("timeouts", "warn", `${long.length} hooks may hang for more than 10 minutes`, {
      hint: "timeouts are in seconds: 5000 is 83 minutes",
      details: long.map(
        ({ scope, event, command, timeout }) =>
          `${scope}, ${event}: ${timeout} s${isOurHook(command) ? ", ours: ctxbridge uninstall, then install" : ""}`,
      ),
    }),
  ]
}

/** Seconds. */
const LONGEST = 600

/** Where the host keeps this user's transcripts. */
export const projectsOf = ({ claudeDir }: Patient): string => join(claudeDir, "projects")
