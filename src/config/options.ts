/**
 * Defines every option once. The type, environment names, validation, `config list` and docs/configuration.md come from
 * this table; what options are for is said in options-doc.ts, which hooks do not load.
 */
import { addresses } from "../base/errors.ts"
import { cut } from "../base/text.ts"

type Raw = string | number | boolean | readonly string[]

interface Row<T> {
  /** Environment variables: ours first, then other names as aliases, mostly the design documents'. */
  readonly env: readonly string[]
  /** Its name in an earlier version, which files may still have. */
  readonly former?: string
  /** `user`: a project's file may not set it, because that file comes with `git clone`. */
  readonly scope: "any" | "user"
  readonly default: T
  /** The allowed values, for messages and docs. */
  readonly allowed: string
  /** The value, or undefined if it is not allowed. */
  parse(raw: Raw): T | undefined
  /** The part of a disallowed value that still counts. */
  salvage?(raw: Raw): T
  /** Variables of the design documents whose value there means nothing: whoever copied it has chosen nothing. */
  readonly copied?: Readonly<Record<string, string>>
}

type AnyRow = Row<number> | Row<boolean> | Row<readonly string[]> | Row<string>
type Scope = Row<unknown>["scope"]
type Range = readonly [least: number, most: number]

const number =
  (read: (text: string) => number, fits: (value: number) => boolean) =>
  (scope: Scope, standard: number, [least, most]: Range, ...env: readonly string[]): Row<number> => ({
    env,
    scope,
    default: standard,
    allowed: `${least} to ${most}`,
    parse(raw) {
      const value = typeof raw === "string" ? read(raw) : raw
      return typeof value === "number" && value >= least && value <= most && fits(value) ? value : undefined
    },
  })

const integer = number((text) => (/^-?\d+$/.test(text.trim()) ? Number(text) : Number.NaN), Number.isInteger)

const share = number(
  (text) => (text.trim() === "" ? Number.NaN : Number(text)),
  () => true,
)

function truth(raw: Raw): boolean | undefined {
  if (typeof raw === "boolean") return raw
  if (/^(1|true|on|yes)$/i.test(String(raw))) return true
  return /^(0|false|off|no)$/i.test(String(raw)) ? false : undefined
}

const flag = (scope: Scope, standard: boolean, ...env: readonly string[]): Row<boolean> => ({
  env,
  scope,
  default: standard,
  allowed: "true or false",
  parse: truth,
})

const SIZE = /^(\d+(?:\.\d+)?)\s*([kmgt]?)b?$/i

/** Bytes, as a number or with a unit of 1,000, 1,000,000, …; 0: no limit. */
const size = (scope: Scope, standard: number, ...env: readonly string[]): Row<number> => ({
  env,
  scope,
  default: standard,
  allowed: "bytes, or a size like 500MB or 2GB; 0: no limit",
  parse(raw) {
    const [, digits = "", unit = ""] = SIZE.exec(String(raw).trim()) ?? []
    const bytes = Math.round(Number(digits) * 1000 ** " kmgt".indexOf(unit.toLowerCase() || " "))
    return digits !== "" && typeof raw !== "boolean" && Number.isSafeInteger(bytes) ? bytes : undefined
  },
})

const choice = <T extends string>(
  scope: Scope,
  standard: NoInfer<T>,
  values: readonly T[],
  ...env: readonly string[]
): Row<T> => ({
  env,
  scope,
  default: standard,
  allowed: values.join(", "),
  parse: (raw) => values.find((value) => value === String(raw).trim().toLowerCase()),
})

/** The same, where another name of it is true or false. */
const switched = <T extends string>(row: Row<T>, on: NoInfer<T>, off: NoInfer<T>): Row<T> => ({
  ...row,
  parse(raw) {
    const isOn = truth(raw)
    return isOn === undefined ? row.parse(raw) : isOn ? on : off
  },
})

/** Only in the user's own file or environment. Empty: nothing. */
const text = (allowed: string, isOne: (one: string) => boolean, ...env: readonly string[]): Row<string> => ({
  env,
  scope: "user",
  default: "",
  allowed,
  parse: (raw) => (typeof raw === "string" && (raw === "" || isOne(raw)) ? raw : undefined),
})

/** Without a password, which `config list` would show. */
const isTarget = (one: string): boolean =>
  /^postgres(?:ql)?:/.test(one) ? addresses().addressShown(one) === one : isPath(one)

/** Whether an address of http is one of our own machine, `find/embed/install-model.ts` decides. */
const isModelSource = (one: string): boolean => /^(?:https?:\/\/|\/)[^\0\s]/.test(one)

/** Whether it is one of our own machine, `ctxbridge update` decides. */
const isReleases = (one: string): boolean => /^(?:https?:\/\/|file:\/\/\/|\/)[^\0\s]/.test(one)

/** Nothing that a client could take for an option. */
const isModel = (one: string): boolean => /^[A-Za-z0-9][\w.:/@[\]-]{0,119}$/.test(one)

const isPath = (one: string): boolean => /^(?:\/|~\/)[^\0]*$/.test(one)

/** Only in the user's own file. One of them, or a list. */
const list = (
  most: number,
  what: string,
  isOne: (one: string) => boolean = () => true,
): Row<readonly string[]> => ({
  env: [],
  scope: "user",
  default: [],
  allowed: `up to ${most} ${what}`,
  parse(raw) {
    const all = typeof raw === "string" ? [raw] : raw
    return Array.isArray(all) && all.length <= most && all.every(isOne) ? all : undefined
  },
  // Excluding too few folders is better than excluding none, and so is filtering for some patterns.
  salvage: (raw) => (Array.isArray(raw) ? raw.filter(isOne).slice(0, most) : []),
})

/** Only absolute folders: in a hook, it is unclear what a relative one would be relative to. */
const isFolderPattern = (one: string): boolean =>
  /^(?:\/|~\/|~$)/.test(one) && !/(?:^|\/)\.\.?(?:\/|$)|\0/.test(one)

const BUDGET_PERIODS = ["block", "day", "week", "month"] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/**
 * `$20` or `20M`; a small number alone would be a few tokens, where dollars are meant. What it means,
 * restore/window/budget-use.ts decides.
 */
const budget = (...env: readonly string[]): Row<string> =>
  text(
    "dollars like $20, tokens like 20M",
    (one) =>
      /^\s*(?:\$\s*\d{1,9}(?:\.\d+)?|\d{1,12}(?:\.\d+)?\s*(?:[kmb]? ?tokens|[kmb])|\d{4,12})\s*$/i.test(one),
    ...env,
  )

/** A model, then input and output, and perhaps what reading from and writing to the cache costs (views/prices.ts). */
const isPrice = (one: string): boolean => /^\s*\S*[A-Za-z]\S*(?:\s+\d{1,6}(?:\.\d{1,6})?){2,5}\s*$/.test(one)

/** Each with its scope, its default, the range of a number, and its environment variables. */
export const OPTIONS = {
  "capture.enabled": flag("user", true, "CTXBRIDGE_CAPTURE"),
  "capture.exclude": list(100, "folders that begin with / or ~, with * and **", isFolderPattern),
  "restore.enabled": flag("any", true, "CTXBRIDGE_RESTORE"),
  "restore.budget": integer(
    "any",
    4000,
    [0, 9500],
    "CTXBRIDGE_RESTORE_BUDGET",
    "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET",
  ),
  "restore.startup": flag("any", true, "CTXBRIDGE_RESTORE_STARTUP"),
  "restore.clear": choice("any", "full", ["full", "pointer", "off"], "CTXBRIDGE_RESTORE_CLEAR"),
  "restore.related": integer("any", 3, [0, 10], "CTXBRIDGE_RESTORE_RELATED"),
  "restore.receipt": flag("any", true, "CTXBRIDGE_RESTORE_RECEIPT"),
  "recall.actions": flag("user", false, "CTXBRIDGE_RECALL"),
  "instructions.budget": integer(
    "any",
    2000,
    [0, 2000],
    "CTXBRIDGE_INSTRUCTIONS_BUDGET",
    "CLAUDE_FLOW_COMPACT_INSTRUCTION_BUDGET",
  ),
  "compaction.block": switched(
    choice(
      "user",
      "off",
      ["off", "once-if-behind"],
      "CTXBRIDGE_COMPACTION_BLOCK",
      "CLAUDE_FLOW_BLOCK_COMPACTION",
    ),
    "once-if-behind",
    "off",
  ),
  "search.meaning": {
    ...switched(
      choice("user", "auto", ["auto", "off"], "CTXBRIDGE_MEANING", "CTXBRIDGE_EMBED"),
      "auto",
      "off",
    ),
    former: "embed.enabled",
  },
  "archive.retention": integer(
    "user",
    0,
    [0, 36_500],
    "CTXBRIDGE_ARCHIVE_RETENTION",
    "CLAUDE_FLOW_RETENTION_DAYS",
  ),
  "archive.max_size": size("user", 5_000_000_000, "CTXBRIDGE_ARCHIVE_MAX_SIZE"),
  "archive.cold": {
    ...flag("user", true, "CTXBRIDGE_ARCHIVE_COLD", "CTXBRIDGE_LEARN", "CLAUDE_FLOW_AUTO_OPTIMIZE"),
    former: "learn.enabled",
  },
  "hook.deadline": integer("user", 1500, [100, 4000], "CTXBRIDGE_HOOK_DEADLINE"),
  "autopilot.enabled": flag("any", true, "CTXBRIDGE_AUTOPILOT", "CLAUDE_FLOW_CONTEXT_AUTOPILOT"),
  "autopilot.window": {
    ...integer("any", 0, [0, 10_000_000], "CTXBRIDGE_CONTEXT_WINDOW", "CLAUDE_FLOW_CONTEXT_WINDOW"),
    copied: { CLAUDE_FLOW_CONTEXT_WINDOW: "200000" },
  },
  "autopilot.warn": share("any", 0.7, [0.05, 1], "CTXBRIDGE_AUTOPILOT_WARN", "CLAUDE_FLOW_AUTOPILOT_WARN"),
  "autopilot.critical": share(
    "any",
    0.85,
    [0.05, 1],
    "CTXBRIDGE_AUTOPILOT_CRITICAL",
    "CLAUDE_FLOW_AUTOPILOT_PRUNE",
  ),
  "autopilot.project-state": flag("user", false, "CTXBRIDGE_AUTOPILOT_PROJECT_STATE"),
  "statusline.enabled": flag("user", true, "CTXBRIDGE_STATUSLINE"),
  "prune.keep": integer("user", 4, [1, 1000], "CTXBRIDGE_PRUNE_KEEP", "CLAUDE_TEXT_PRUNE_KEEP"),
  "prune.threshold": integer("user", 20_000, [0, 10_000_000], "CTXBRIDGE_PRUNE_THRESHOLD"),
  "prune.max_chars": integer(
    "user",
    80,
    [0, 10_000],
    "CTXBRIDGE_PRUNE_MAX_CHARS",
    "CLAUDE_TEXT_PRUNE_MAX_CHARS",
  ),
  "prune.when": choice("user", "pause", ["pause", "prompt"], "CTXBRIDGE_PRUNE_WHEN"),
  "prune.results": flag("user", true, "CTXBRIDGE_PRUNE_RESULTS"),
  "embed.from": text("https://… or a folder that begins with /", isModelSource, "CTXBRIDGE_MODEL_FROM"),
  "sync.to": text("a folder that begins with / or ~/, or postgres://… without a password", isTarget),
  "sync.passphrase-file": text("a file that begins with / or ~/", isPath),
  "sync.auto": choice("user", "off", ["off", "turns", "frames"], "CTXBRIDGE_SYNC_AUTO"),
  "secrets.enabled": flag("user", true, "CTXBRIDGE_SECRETS"),
  // What is wrong with one of them, own-patterns.ts finds out.
  "secrets.patterns": list(50, "regular expressions"),
  "stats.prices": list(100, "lines MODEL INPUT OUTPUT, in dollars per million tokens", isPrice),
  "budget.block": budget("CTXBRIDGE_BUDGET_BLOCK"),
  "budget.day": budget("CTXBRIDGE_BUDGET_DAY"),
  "budget.week": budget("CTXBRIDGE_BUDGET_WEEK"),
  "budget.month": budget("CTXBRIDGE_BUDGET_MONTH"),
  "sync.backend": choice(
    "user",
    "auto",
    ["auto", "sqlite", "postgres", "agentdb", "json"],
    "CTXBRIDGE_BACKEND",
  ),
  "output.links": choice("user", "auto", ["auto", "never"], "CTXBRIDGE_LINKS"),
  "summaries.auto": choice("user", "off", ["off", "session-end"], "CTXBRIDGE_SUMMARIES"),
  "summaries.model": { ...text("a model's name, as `claude --model` takes it", isModel), default: "haiku" },
  "summaries.daily": integer("user", 10, [1, 1000], "CTXBRIDGE_SUMMARIES_DAILY"),
  "update.from": text("https://…, file://… or a folder that begins with /", isReleases, "CTXBRIDGE_RELEASES"),
} as const satisfies Record<string, AnyRow>

export type Key = keyof typeof OPTIONS

/** Whether an earlier version had it, and nothing has taken its place. Its variable is in unused-variables.ts. */
export const isRemoved = (name: string): boolean => name === "learn.holdout"

/** The option of that name, or that had it; undefined if there is none. */
export const optionNamed = (name: string): Key | undefined =>
  (Object.keys(OPTIONS) as Key[]).find((key) => key === name || (OPTIONS[key] as AnyRow).former === name)

export type Config = { readonly [K in Key]: (typeof OPTIONS)[K]["default"] }

export const hasBudget = (config: Config): boolean =>
  BUDGET_PERIODS.some((period) => config[`budget.${period}`] !== "")

type Origin = "env" | "project" | "user" | "default"

/** Values of one source, by key. */
export type Layer = Readonly<Record<string, unknown>>

interface Layers {
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

const SOURCES = ["env", "project", "user"] as const

/** The first of an option's variables that has a value. */
function setIn(env: Layers["env"], { env: names, copied }: Row<unknown>): string | undefined {
  if (env === undefined) return undefined
  for (const name of names) if ((env[name] ?? "") !== "" && env[name] !== copied?.[name]) return name
  return undefined
}

/** How many characters of an invalid value are shown. */
const VALUE_SHOWN = 80

/** Merges the sources: environment > project > user > default. A bad value falls through to the next source. */
export function resolveOptions(layers: Layers): Resolved {
  const config: Record<string, unknown> = {}
  const origin: Record<string, Origin> = {}
  const problems: Problem[] = []
  for (const name in OPTIONS) {
    const key = name as Key
    const row: AnyRow = OPTIONS[key]
    config[key] = row.default
    origin[key] = "default"
    for (const from of SOURCES) {
      const variable = from === "env" ? setIn(layers.env, row) : undefined
      const layer = layers[from]
      const raw = layer?.[variable ?? key] ?? (row.former && layer?.[row.former])
      if (raw === undefined) continue
      if (from === "project" && row.scope === "user") {
        problems.push({ key, origin: from, isValue: false, message: "not allowed in a project's file" })
        continue
      }
      const value = isRaw(raw) ? row.parse(raw) : undefined
      if (value === undefined) {
        const shown = typeof raw === "string" ? addresses().addressShown(raw) : raw
        const message = `${cut(JSON.stringify(shown), VALUE_SHOWN)} is not allowed (${row.allowed})`
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
      if (optionNamed(key) === undefined)
        problems.push({
          key,
          origin: from,
          isValue: false,
          message: isRemoved(key) ? "no longer exists" : "no such option",
        })
    }
  }
  return { config: config as Config, origin: origin as Record<Key, Origin>, problems }
}
