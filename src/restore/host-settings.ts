/** What the host's settings say about what it shows by itself: excluded memory files, places of plans and notes. */
import type { Paths } from "../config/load.ts"
import { readdirSync, realpathSync } from "../util/fs.ts"
import { dirname, isAbsolute, join, resolve } from "../util/path.ts"
import { readSmall } from "./disk.ts"

/** Where the host finds them. */
export type HostPlaces = Pick<Paths, "home" | "claudeDir" | "hostConfig"> & {
  /** The session's folder, as the host says it. */
  readonly cwd: string | undefined
}

export interface HostSettings {
  /** Where the session's plan may stand, the likeliest first. */
  readonly planFolders: readonly string[]
  /** Where the host's own notes stand; undefined: in its folder of the project, none: it keeps none. */
  readonly notes: string | "none" | undefined
  /** Whether a memory file of the user's or of a folder's is not shown. */
  readonly isExcluded: (path: string) => boolean
}

/** Where an organisation puts its own. */
export const MANAGED =
  process.platform === "darwin" ? "/Library/Application Support/ClaudeCode" : "/etc/claude-code"
/** Bytes of a file: it may be anybody's. */
const LONGEST = 1 << 20
const MOST_FILES = 20
const MOST_PATTERNS = 200
/** UTF-16 units: no path is longer. To match a megabyte of brackets takes 50 ms for each file. */
const LONGEST_PATTERN = 4096

type Fields = Readonly<Record<string, unknown>>

/** What the user's, the project's and the organisation's files say; the host's command line is not known here. */
export function hostSettings({ home, claudeDir, cwd }: HostPlaces): HostSettings {
  const project = cwd === undefined ? [] : ["settings.json", "settings.local.json"]
  const files = [
    join(claudeDir, "settings.json"),
    ...project.map((name) => join(cwd!, ".claude", name)),
    ...managedFiles(),
  ]
  const all = files.map(fieldsIn)
  // The last one counts; of lists, all.
  const last = (name: string): unknown => all.findLast((fields) => fields[name] !== undefined)?.[name]
  const patterns = all
    .flatMap((fields) => stringsIn(fields["claudeMdExcludes"]))
    .filter((pattern) => pattern.length <= LONGEST_PATTERN)
  const plans = planFolder(last("plansDirectory"), cwd)
  return {
    planFolders: [...(plans === undefined ? [] : [plans]), join(claudeDir, "plans")],
    notes: last("autoMemoryEnabled") === false ? "none" : notesFolder(last("autoMemoryDirectory"), home),
    isExcluded: matcher(patterns.slice(0, MOST_PATTERNS)),
  }
}

function managedFiles(): string[] {
  const folder = join(MANAGED, "managed-settings.d")
  let names: string[] = []
  try {
    names = readdirSync(folder).filter((name) => name.endsWith(".json"))
  } catch {
    // Hardly anybody has one.
  }
  const more = names.sort().slice(0, MOST_FILES)
  return [join(MANAGED, "managed-settings.json"), ...more.map((name) => join(folder, name))]
}

function fieldsIn(file: string): Fields {
  try {
    const fields: unknown = JSON.parse((readSmall(file, LONGEST) ?? "{}").replace(/^\uFEFF/, ""))
    return typeof fields === "object" && fields !== null ? (fields as Fields) : {}
  } catch {
    // The host ignores it, too.
    return {}
  }
}

const stringsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string" && one !== "") : []

/** Only below the session's folder does the host take one. */
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

/** The host matches the names of files as they were found, and patterns also with the links in their beginning followed. */
function matcher(patterns: readonly string[]): (path: string) => boolean {
  const globs = [...patterns, ...patterns.flatMap(withoutLinks)].map((pattern) => new Bun.Glob(pattern))
  return (path) => globs.some((glob) => glob.match(path))
}

function withoutLinks(pattern: string): string[] {
  if (!pattern.startsWith("/")) return []
  const special = pattern.search(/[*?{[]/)
  const folder = dirname(special < 0 ? pattern : pattern.slice(0, special))
  try {
    const real = realpathSync(folder)
    return real === folder ? [] : [real + pattern.slice(folder.length)]
  } catch {
    return []
  }
}
