/**
 * Reads what the host's settings say about what it adds to the context itself: excluded memory files, and where plans
 * and notes are.
 */
import { PROJECT_SETTINGS, userSettings } from "../../agents/claude-code/host-places.ts"
import type { Paths } from "../../config/load.ts"
import { type JsonObject, objectOf } from "../../transcript/json.ts"
import { tryTo } from "../../util/files.ts"
import { readdirSync, realpathSync } from "../../util/fs.ts"
import { parseJson } from "../../util/parse-json.ts"
import { dirname, isAbsolute, join, resolve } from "../../util/path.ts"
import { readSmall } from "../read-part.ts"

/** The places where the host looks for them. */
export type HostPlaces = Pick<Paths, "home" | "claudeDir" | "hostConfig"> & {
  /** The session's folder, as the host reports it. */
  readonly cwd: string | undefined
}

export interface HostSettings {
  /** Where the session's plan may be, likeliest first. */
  readonly planFolders: readonly string[]
  /** Where the host's own notes are. Undefined: in its folder for the project; none: it keeps none. */
  readonly notes: string | "none" | undefined
  /** Whether the host compacts by itself; undefined: no file says so. */
  readonly autoCompact: boolean | undefined
  /** Whether the host may start a server that the project lists. */
  readonly allowsServer: (name: string) => boolean
  /** Whether a user's or folder's memory file is excluded. */
  readonly isExcluded: (path: string) => boolean
}

/** Where an organisation puts its managed files. */
export const MANAGED =
  { darwin: "/Library/Application Support/ClaudeCode", win32: "C:/Program Files/ClaudeCode" }[
    process.platform as string
  ] ?? "/etc/claude-code"
/** Maximum size of a file in bytes; it may be anyone's. */
const LONGEST = 1 << 20
const MOST_FILES = 20
const MOST_PATTERNS = 200
/** In UTF-16 units; no path is longer. Matching a megabyte of brackets takes 50 ms per file. */
const LONGEST_PATTERN = 4096

/** Combines the user's, the project's and the organisation's files. The host's command line is not known here. */
export function hostSettings({ home, claudeDir, cwd }: HostPlaces): HostSettings {
  const project = cwd === undefined ? [] : [PROJECT_SETTINGS.project, PROJECT_SETTINGS.local]
  const files = [userSettings(claudeDir), ...project.map((name) => join(cwd!, name)), ...managedFiles()]
  const all = files.map(fieldsIn)
  // The last value counts; lists are combined.
  const last = (name: string): unknown => all.findLast((fields) => fields[name] !== undefined)?.[name]
  const patterns = all
    .flatMap((fields) => stringsIn(fields["claudeMdExcludes"]))
    .filter((pattern) => pattern.length <= LONGEST_PATTERN)
  const plans = planFolder(last("plansDirectory"), cwd)
  return {
    planFolders: [...(plans === undefined ? [] : [plans]), join(claudeDir, "plans")],
    notes: last("autoMemoryEnabled") === false ? "none" : notesFolder(last("autoMemoryDirectory"), home),
    autoCompact: booleanOr(last("autoCompactEnabled")),
    allowsServer: (name) => {
      const lists = (key: string): boolean => all.some((fields) => stringsIn(fields[key]).includes(name))
      if (lists("disabledMcpjsonServers")) return false
      return last("enableAllProjectMcpServers") === true || lists("enabledMcpjsonServers")
    },
    isExcluded: matcher(patterns.slice(0, MOST_PATTERNS)),
  }
}

function managedFiles(): string[] {
  const folder = join(MANAGED, "managed-settings.d")
  // Hardly anyone has one.
  const names = tryTo(() => readdirSync(folder).filter((name) => name.endsWith(".json"))) ?? []
  const more = names.sort().slice(0, MOST_FILES)
  return [join(MANAGED, "managed-settings.json"), ...more.map((name) => join(folder, name))]
}

function fieldsIn(file: string): JsonObject {
  // What is no JSON, the host ignores as well.
  return objectOf(parseJson((readSmall(file, LONGEST) ?? "").replace(/^\uFEFF/, "")))
}

export const booleanOr = (value: unknown): boolean | undefined =>
  typeof value === "boolean" ? value : undefined

const stringsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string" && one !== "") : []

/** The host only accepts a folder inside the session's folder. */
function planFolder(value: unknown, cwd: string | undefined): string | undefined {
  if (typeof value !== "string" || cwd === undefined) return undefined
  const folder = isAbsolute(value) ? resolve(value) : resolve(join(cwd, value))
  return folder === cwd || folder.startsWith(`${cwd}/`) ? folder : undefined
}

function notesFolder(value: unknown, home: string): string | undefined {
  if (typeof value !== "string") return undefined
  const folder = value.startsWith("~/") ? join(home, value.slice(2)) : value
  return isAbsolute(folder) && resolve(folder).length > 2 ? resolve(folder) : undefined
}

/**
 * The host matches file names as it found them. It also tries each pattern with the links in its literal part resolved.
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
