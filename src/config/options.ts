/**
 * Defines every option once. The type, environment names, validation, `config list` and docs/configuration.md come from
 * this table; what options are for is said in options-doc.ts, which hooks do not load.
 */
import { cut } from "../util/text.ts"

type Raw = string | number | boolean | readonly string[]

interface Row<T> {
  /** Environment variables: ours first, then the design documents' names as aliases. */
  readonly env: readonly string[]
  /** `user`: a project's file may not set it, because that file comes with `git clone`. */
  readonly scope: "any" | "user"
  readonly default: T
  /** The allowed values, for messages and docs. */
  readonly allowed: string
  /** The value, or undefined if it is not allowed. */
  parse(raw: Raw): T | undefined
  /** The part of a disallowed value that still counts. */
  salvage?(raw: Raw): T
}

const integer =
  (min: number, max: number) =>
  (raw: Raw): number | undefined => {
    const value = typeof raw === "string" ? (/^-?\d+$/.test(raw.trim()) ? Number(raw) : Number.NaN) : raw
    return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
      ? value
      : undefined
  }

const share =
  (min: number, max: number) =>
  (raw: Raw): number | undefined => {
    const value = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw
    return typeof value === "number" && value >= min && value <= max ? value : undefined
  }

const flag = (raw: Raw): boolean | undefined => {
  if (typeof raw === "boolean") return raw
  if (/^(1|true|on|yes)$/i.test(String(raw))) return true
  return /^(0|false|off|no)$/i.test(String(raw)) ? false : undefined
}

/** One regular expression or a list. What is wrong with one of them, own-patterns.ts finds out. */
const patterns = (raw: Raw): readonly string[] | undefined => {
  const list = typeof raw === "string" ? [raw] : raw
  return Array.isArray(list) && list.length <= 50 ? list : undefined
}

// A filter for some of them is better than none.
const somePatterns = (raw: Raw): readonly string[] => (Array.isArray(raw) ? raw.slice(0, 50) : [])

/** Only absolute folders: in a hook, it is unclear what a relative one would be relative to. */
const folders = (raw: Raw): readonly string[] | undefined => {
  const list = typeof raw === "string" ? [raw] : raw
  return Array.isArray(list) && list.length <= 100 && list.every(isFolderPattern) ? list : undefined
}

const someFolders = (raw: Raw): readonly string[] =>
  Array.isArray(raw) ? raw.filter(isFolderPattern).slice(0, 100) : []

const isFolderPattern = (one: string): boolean =>
  /^(?:\/|~\/|~$)/.test(one) && !/(?:^|\/)\.\.?(?:\/|$)|\0/.test(one)

const NONE: readonly string[] = []
const TRUE_OR_FALSE = { allowed: "true or false", parse: flag } as const

export const OPTIONS = {
  "capture.enabled": {
    env: ["CTXBRIDGE_CAPTURE"],
    scope: "user",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "capture.exclude": {
    env: [],
    scope: "user",
    default: NONE,
    allowed: "up to 100 folders that begin with / or ~, with * and **",
    parse: folders,
    // Excluding too few folders is better than excluding none.
    salvage: someFolders,
  },
  "restore.enabled": {
    env: ["CTXBRIDGE_RESTORE"],
    scope: "any",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "restore.budget": {
    env: ["CTXBRIDGE_RESTORE_BUDGET", "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET"],
    scope: "any",
    default: 4000,
    allowed: "0 to 9500",
    parse: integer(0, 9500),
  },
  "restore.startup": {
    env: ["CTXBRIDGE_RESTORE_STARTUP"],
    scope: "any",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "restore.related": {
    env: ["CTXBRIDGE_RESTORE_RELATED"],
    scope: "any",
    default: 3,
    allowed: "0 to 10",
    parse: integer(0, 10),
  },
  "restore.receipt": {
    env: ["CTXBRIDGE_RESTORE_RECEIPT"],
    scope: "any",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "instructions.budget": {
    env: ["CTXBRIDGE_INSTRUCTIONS_BUDGET", "CLAUDE_FLOW_COMPACT_INSTRUCTION_BUDGET"],
    scope: "any",
    default: 2000,
    allowed: "0 to 2000",
    parse: integer(0, 2000),
  },
  "embed.enabled": {
    env: ["CTXBRIDGE_EMBED"],
    scope: "user",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "hook.deadline": {
    env: ["CTXBRIDGE_HOOK_DEADLINE"],
    scope: "user",
    default: 1500,
    allowed: "100 to 4000",
    parse: integer(100, 4000),
  },
  "autopilot.enabled": {
    env: ["CTXBRIDGE_AUTOPILOT", "CLAUDE_FLOW_CONTEXT_AUTOPILOT"],
    scope: "any",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "autopilot.window": {
    env: ["CTXBRIDGE_CONTEXT_WINDOW", "CLAUDE_FLOW_CONTEXT_WINDOW"],
    scope: "any",
    default: 0,
    allowed: "0 to 10000000",
    parse: integer(0, 10_000_000),
  },
  "autopilot.warn": {
    env: ["CTXBRIDGE_AUTOPILOT_WARN", "CLAUDE_FLOW_AUTOPILOT_WARN"],
    scope: "any",
    default: 0.7,
    allowed: "0.05 to 1",
    parse: share(0.05, 1),
  },
  "autopilot.critical": {
    env: ["CTXBRIDGE_AUTOPILOT_CRITICAL", "CLAUDE_FLOW_AUTOPILOT_PRUNE"],
    scope: "any",
    default: 0.85,
    allowed: "0.05 to 1",
    parse: share(0.05, 1),
  },
  "autopilot.project-state": {
    env: ["CTXBRIDGE_AUTOPILOT_PROJECT_STATE"],
    scope: "user",
    default: false,
    ...TRUE_OR_FALSE,
  },
  "statusline.enabled": {
    env: ["CTXBRIDGE_STATUSLINE"],
    scope: "user",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "secrets.enabled": {
    env: ["CTXBRIDGE_SECRETS"],
    scope: "user",
    default: true,
    ...TRUE_OR_FALSE,
  },
  "secrets.patterns": {
    env: [],
    scope: "user",
    default: NONE,
    allowed: "up to 50 regular expressions",
    parse: patterns,
    salvage: somePatterns,
  },
} as const satisfies Record<string, Row<number> | Row<boolean> | Row<readonly string[]>>

export type Key = keyof typeof OPTIONS
type Widen<T> = T extends boolean ? boolean : T extends number ? number : T
export type Config = { readonly [K in Key]: Widen<(typeof OPTIONS)[K]["default"]> }
export type Origin = "flag" | "env" | "project" | "user" | "default"

/** Values of one source, by key. */
export type Layer = Readonly<Record<string, unknown>>

export interface Layers {
  readonly flag?: Layer
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly project?: Layer
  readonly user?: Layer
}

export interface Problem {
  readonly key: string
  readonly origin: Origin
  /** The environment variable that contains it. */
  readonly variable?: string
  /** True when the option may be set there, but not to this value. */
  readonly isValue: boolean
  readonly message: string
}

export interface Resolved {
  readonly config: Config
  readonly origin: Readonly<Record<Key, Origin>>
  /** What was ignored, and why. */
  readonly problems: readonly Problem[]
}

const isRaw = (value: unknown): value is Raw =>
  (Array.isArray(value) && value.every((one) => typeof one === "string")) ||
  typeof value === "string" ||
  typeof value === "number" ||
  typeof value === "boolean"

const SOURCES = ["flag", "env", "project", "user"] as const

/** The first of these variables that has a value. */
function setIn(env: Layers["env"], names: readonly string[]): string | undefined {
  if (env === undefined) return undefined
  for (const name of names) if ((env[name] ?? "") !== "") return name
  return undefined
}

/** How many characters of an invalid value are shown. */
const VALUE_SHOWN = 80

/** Merges the sources: flag > environment > project > user > default. A bad value falls through to the next source. */
export function resolveOptions(layers: Layers): Resolved {
  const config: Record<string, unknown> = {}
  const origin: Record<string, Origin> = {}
  const problems: Problem[] = []
  for (const key of Object.keys(OPTIONS) as Key[]) {
    const row: Row<number> | Row<boolean> | Row<readonly string[]> = OPTIONS[key]
    config[key] = row.default
    origin[key] = "default"
    for (const from of SOURCES) {
      const variable = from === "env" ? setIn(layers.env, row.env) : undefined
      const raw = variable === undefined ? layers[from]?.[key] : layers.env?.[variable]
      if (raw === undefined) continue
      if (from === "project" && row.scope === "user") {
        problems.push({ key, origin: from, isValue: false, message: "not allowed in a project's file" })
        continue
      }
      const value = isRaw(raw) ? row.parse(raw) : undefined
      if (value === undefined) {
        const message = `${cut(JSON.stringify(raw), VALUE_SHOWN)} is not allowed (${row.allowed})`
        const place = variable === undefined ? {} : { variable }
        problems.push({ key, origin: from, ...place, isValue: true, message })
        const rest = row.salvage?.(
          Array.isArray(raw) ? raw.filter((one) => typeof one === "string") : (raw as Raw),
        )
        if (rest === undefined) continue
        config[key] = rest
        origin[key] = from
        break
      }
      config[key] = value
      origin[key] = from
      break
    }
  }
  for (const from of ["project", "user"] as const) {
    for (const key of Object.keys(layers[from] ?? {})) {
      if (!Object.hasOwn(OPTIONS, key))
        problems.push({ key, origin: from, isValue: false, message: "no such option" })
    }
  }
  return { config: config as Config, origin: origin as Record<Key, Origin>, problems }
}
