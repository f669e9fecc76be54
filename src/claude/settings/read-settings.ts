/**
 * What Claude Code's settings say: the user's, the project's, the user's own for the project, and what an organisation
 * manages. Read as leniently as Claude Code does, by all who want to know anything of them; how they are changed is in
 * claude/install.
 */

import { tryTo } from "../../base/files.ts"
import { readdirSync, realpathSync } from "../../base/fs.ts"
import { parseJson } from "../../base/json-files.ts"
import { dirname, isAbsolute, join, resolve } from "../../base/path.ts"
import {
  type ClaudeLimits,
  type ClaudePlaces,
  claudeLimits,
  claudeVariable,
  type Paths,
  type SettingsPlaces,
  variablesSet,
} from "../../config/load.ts"
import { type JsonObject, listedStrings, objectOf } from "../../record/json.ts"
import { readSmall } from "../../vault/source-file.ts"
import { PROJECT_SETTINGS, userSettings } from "../places.ts"
import { claudeState } from "./state-file.ts"

/** Whose settings: the user's, the project's shared ones, or the user's own for this project. */
export type SettingsScope = "user" | "project" | "local"

export const SCOPES: readonly SettingsScope[] = ["user", "project", "local"]

/** Where an organisation puts its managed files. */
export const MANAGED =
  { darwin: "/Library/Application Support/ClaudeCode", win32: "C:/Program Files/ClaudeCode" }[
    process.platform as string
  ] ?? "/etc/claude-code"
/** Maximum size of a file in bytes, and of a project's, which may be anyone's. */
const LONGEST = 16 << 20
const LONGEST_OF_PROJECT = 1 << 20
const MOST_FILES = 20
const MOST_PATTERNS = 200
/** In UTF-16 units; no path is longer. Matching a megabyte of brackets takes 50 ms per file. */
const LONGEST_PATTERN = 4096

/** A settings file that is there. */
export interface SettingsFile {
  readonly scope: SettingsScope | "managed"
  readonly file: string
  /** Empty for what is no JSON object: Claude Code ignores that file as well. */
  readonly fields: JsonObject
}

/** Path of a scope's settings file. */
export function settingsPath(
  scope: SettingsScope,
  { claudeDir, cwd }: Pick<Paths, "claudeDir"> & { readonly cwd: string },
): string {
  return scope === "user" ? userSettings(claudeDir) : join(cwd, PROJECT_SETTINGS[scope])
}

/** Every scope's file that may be changed, each once: in the home folder, the project's file is the user's. */
export function settingsFiles(
  places: SettingsPlaces,
): { readonly scope: SettingsScope; readonly file: string }[] {
  const { cwd } = places
  const seen = new Set<string>()
  return SCOPES.flatMap((scope) =>
    scope === "user" || cwd !== undefined
      ? [{ scope, file: settingsPath(scope, { ...places, cwd: cwd ?? "" }) }]
      : [],
  ).filter(({ file }) => {
    const real = tryTo(() => realpathSync(file)) ?? file
    return !seen.has(real) && seen.add(real)
  })
}

/** All that are there; what a later one says counts more. Claude Code's command line is not known here. */
export function readSettings(places: SettingsPlaces): SettingsFile[] {
  const managed = managedFiles(places.managed ?? MANAGED).map((file) => ({ scope: "managed" as const, file }))
  return [...settingsFiles(places), ...managed].flatMap(({ scope, file }) => {
    const text = readSmall(file, scope === "project" ? LONGEST_OF_PROJECT : LONGEST)
    return text === undefined
      ? []
      : [{ scope, file, fields: objectOf(parseJson(text.replace(/^\uFEFF/, ""))) }]
  })
}

function managedFiles(folder: string): string[] {
  const more = join(folder, "managed-settings.d")
  // Hardly anyone has one.
  const names = tryTo(() => readdirSync(more).filter((name) => name.endsWith(".json"))) ?? []
  const some = names.sort().slice(0, MOST_FILES)
  return [join(folder, "managed-settings.json"), ...some.map((name) => join(more, name))]
}

/** The last value of this name, which is the one that counts; undefined: no file has one. */
const lastOf = (files: readonly SettingsFile[], name: string): unknown =>
  files.findLast(({ fields }) => fields[name] !== undefined)?.fields[name]

const booleanOr = (value: unknown): boolean | undefined => (typeof value === "boolean" ? value : undefined)

export interface CommandHook {
  /** Claude Code's name for the event; possibly one that no version knows. */
  readonly event: string
  readonly command: string
  /** As written. Claude Code reads it as seconds, whatever its author had in mind. */
  readonly timeout: number | undefined
}

/** The hooks that a file lists. */
export const hooksOf = ({ fields }: SettingsFile): CommandHook[] =>
  Object.entries(objectOf(fields["hooks"])).flatMap(([event, groups]) =>
    listOf(groups)
      .flatMap((group) => listOf(objectOf(group)["hooks"]))
      .flatMap((hook) => commandHook(event, objectOf(hook))),
  )

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function commandHook(event: string, { command, timeout }: JsonObject): CommandHook[] {
  if (typeof command !== "string") return []
  return [{ event, command, timeout: typeof timeout === "number" ? timeout : undefined }]
}

/** The variables that a file sets for Claude Code and what it starts. */
export const variablesOf = ({ fields }: SettingsFile): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(objectOf(fields["env"])).map(([name, value]) => [name, String(value)] as const),
  )

/** Enabled plugins, as `name@marketplace`. */
export const pluginsOf = ({ fields }: SettingsFile): string[] =>
  Object.entries(objectOf(fields["enabledPlugins"]))
    .filter(([, on]) => on === true)
    .map(([name]) => name)

/** The environment in which Claude Code works. Observed in 2.0.76, 2.1.112 and 2.1.330. */
export interface ClaudeEnvironment {
  /** The names that are set, anywhere. */
  readonly names: ReadonlySet<string>
  /** Every value, the one that counts first. */
  readonly extraBody: readonly VariableValue[]
  readonly baseUrl: readonly VariableValue[]
}

export interface VariableValue {
  readonly value: string
  readonly from: SettingsFile["scope"] | "environment"
}

/** What the files set, the one that counts first, and then the variables that Claude Code was started with. */
export function claudeEnvironment(places: SettingsPlaces): ClaudeEnvironment {
  const files = readSettings(places)
    .map((file) => ({ from: file.scope, env: withoutBlanks(variablesOf(file)) }))
    .toReversed()
  const valuesOf = (name: Parameters<typeof claudeVariable>[0]): VariableValue[] =>
    [
      ...files.map(({ from, env }) => ({ from, value: env[name] })),
      { from: "environment" as const, value: claudeVariable(name) },
    ].flatMap(({ from, value }) => (value === undefined ? [] : [{ from, value }]))
  return {
    names: new Set([...files.flatMap(({ env }) => Object.keys(env)), ...variablesSet()]),
    extraBody: valuesOf("CLAUDE_CODE_EXTRA_BODY"),
    baseUrl: valuesOf("ANTHROPIC_BASE_URL"),
  }
}

const withoutBlanks = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""))

/** What the environment and the files set to Claude Code's window. Hooks have the files' variables in theirs. */
export const windowLimits = (places: Omit<ClaudePlaces, "home">): ClaudeLimits =>
  Object.assign({}, claudeLimits(), ...readSettings(places).map((file) => claudeLimits(variablesOf(file))), {
    autoCompact: autoCompactIn(places),
  })

/** What the files say of whether Claude Code compacts by itself. */
export function autoCompactIn(places: Omit<ClaudePlaces, "home">): NonNullable<ClaudeLimits["autoCompact"]> {
  const state = booleanOr(claudeState(places).fields["autoCompactEnabled"])
  const settings = booleanOr(lastOf(readSettings(places), "autoCompactEnabled"))
  return { ...(state === undefined ? {} : { state }), ...(settings === undefined ? {} : { settings }) }
}

/** What they say of what Claude Code adds to the context itself. */
export interface ContextSettings {
  /** Where the session's plan may be, likeliest first. */
  readonly planFolders: readonly string[]
  /**
   * Where what Claude Code writes down for itself is. Undefined: in its folder for the project; none: it keeps none.
   */
  readonly ownMemory: string | "none" | undefined
  /** Whether it may start a server that the project lists. */
  readonly allowsServer: (name: string) => boolean
  /** Whether a user's or folder's memory file is excluded. */
  readonly isExcluded: (path: string) => boolean
}

export function contextSettings(places: SettingsPlaces & Pick<Paths, "home">): ContextSettings {
  const { home, claudeDir, cwd } = places
  const files = readSettings(places)
  // Lists are combined.
  const listed = (name: string): string[] =>
    files.flatMap(({ fields }) => listedStrings(fields[name])).filter((one) => one !== "")
  const patterns = listed("claudeMdExcludes").filter((pattern) => pattern.length <= LONGEST_PATTERN)
  const plans = planFolder(lastOf(files, "plansDirectory"), cwd)
  const keepsMemory = lastOf(files, "autoMemoryEnabled") !== false
  return {
    planFolders: [...(plans === undefined ? [] : [plans]), join(claudeDir, "plans")],
    ownMemory: keepsMemory ? memoryFolder(lastOf(files, "autoMemoryDirectory"), home) : "none",
    allowsServer: (name) => {
      if (listed("disabledMcpjsonServers").includes(name)) return false
      const all = lastOf(files, "enableAllProjectMcpServers") === true
      return all || listed("enabledMcpjsonServers").includes(name)
    },
    isExcluded: matcher(patterns.slice(0, MOST_PATTERNS)),
  }
}

/** Claude Code only accepts a folder inside the session's folder. */
function planFolder(value: unknown, cwd: string | undefined): string | undefined {
  if (typeof value !== "string" || cwd === undefined) return undefined
  const folder = isAbsolute(value) ? resolve(value) : resolve(join(cwd, value))
  return folder === cwd || folder.startsWith(`${cwd}/`) ? folder : undefined
}

function memoryFolder(value: unknown, home: string): string | undefined {
  if (typeof value !== "string") return undefined
  const folder = value.startsWith("~/") ? join(home, value.slice(2)) : value
  return isAbsolute(folder) && resolve(folder).length > 2 ? resolve(folder) : undefined
}

/**
 * Claude Code matches file names as it found them. It also tries each pattern with the links in its literal part
 * resolved.
 */
function matcher(patterns: readonly string[]): (path: string) => boolean {
  const globs = [...patterns, ...patterns.flatMap(withoutLinks)].map((pattern) => new Bun.Glob(pattern))
  return (path) => globs.some((glob) => glob.match(path))
}

function withoutLinks(pattern: string): string[] {
  if (!pattern.startsWith("/")) return []
  const special = pattern.search(/[*?{[]/)
  const folder = dirname(special < 0 ? pattern : pattern.slice(0, special))
  const real = tryTo(() => realpathSync(folder)) ?? folder
  return real === folder ? [] : [real + pattern.slice(folder.length)]
}
