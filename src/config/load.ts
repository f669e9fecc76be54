/** The only file that reads the process environment and configuration files. */

import { agentVariables } from "../agents/layouts.ts"
import { messageOf } from "../base/errors.ts"
import { readOrdinary } from "../base/files.ts"
import { existsSync } from "../base/fs.ts"
import { dirname, fromSystem, isAbsolute, join } from "../base/path.ts"
import { configFolder, stateFile } from "../claude/places.ts"
import type { SecretSettings } from "../secrets/filter.ts"
import { type Layer, OPTIONS, type Resolved, resolveOptions } from "./options.ts"
import { NO_BUN_VARIABLES } from "./unused-variables.ts"

/** Where everything lives. */
export interface Paths {
  /** The user's home folder. */
  readonly home: string
  /** The vault and the archive. */
  readonly dataHome: string
  /** Log and locks, which can be recreated. */
  readonly stateHome: string
  /** Claude Code's configuration folder. */
  readonly claudeDir: string
  /** Where Claude Code keeps its own state, servers included. */
  readonly claudeConfig: string
  /** The folder of another agent that a variable names; undefined unless it is an absolute path. */
  readonly named: (variable: string) => string | undefined
  readonly configFile: string
  /** For temporary files. */
  readonly temporary: string
}

/** Where settings of Claude Code are. */
export type SettingsPlaces = Pick<Paths, "claudeDir"> & {
  /** The session's folder; undefined: only the user's and the organisation's files are meant. */
  readonly cwd: string | undefined
  /** The organisation's folder, where it is not the usual one. */
  readonly managed?: string
}

/** The same, with where Claude Code keeps its own state. */
export type ClaudePlaces = SettingsPlaces & Pick<Paths, "home" | "claudeConfig">

/** What must not get into the archive. */
export interface Policy {
  readonly secrets: SecretSettings
  /** Patterns of folders whose sessions are left out: absolute, or starting with `~`. */
  readonly exclude: readonly string[]
}

/** For whoever writes to one of the places: where, and what not. */
export interface PathsAndPolicy extends Paths, Policy {}

type Env = Readonly<Record<string, string | undefined>>

/** Without slashes at the end, because paths are compared with it, and the spool is named after one. */
function absolute(path: string | undefined): string | undefined {
  if (path === undefined || !isAbsolute(path)) return undefined
  const own = fromSystem(path)
  let end = own.length
  while (end > 1 && own[end - 1] === "/") end--
  return own.slice(0, end)
}

/** From the user database. Only used without HOME: loading node:os costs a hook 0.2 ms. */
const homeOfUser = (): string => fromSystem(process.getBuiltinModule("node:os").homedir())

/** Where Windows keeps what belongs to the user on this machine, and settings that go along to another one. */
const profile = (home: string, env: Env) => ({
  local: absolute(env["LOCALAPPDATA"]) ?? join(home, "AppData", "Local"),
  roaming: absolute(env["APPDATA"]) ?? join(home, "AppData", "Roaming"),
})

/** Resolves all places from the environment alone. Relative paths are ignored, as the XDG specification demands. */
export function resolvePlaces(env: Env = process.env): Paths {
  // On Windows, the one that Claude Code goes by. Git's shell may have another HOME.
  const home = absolute(env[process.platform === "win32" ? "USERPROFILE" : "HOME"]) ?? homeOfUser()
  const windows = process.platform === "win32" ? profile(home, env) : undefined
  const own = absolute(env["CTXBRIDGE_HOME"]) ?? (windows && join(windows.local, "ctxbridge"))
  const data = absolute(env["XDG_DATA_HOME"]) ?? join(home, ".local", "share")
  const state = absolute(env["XDG_STATE_HOME"]) ?? join(home, ".local", "state")
  const claudeDir = absolute(env["CLAUDE_CONFIG_DIR"])
  const config = absolute(env["XDG_CONFIG_HOME"]) ?? windows?.roaming ?? join(home, ".config")
  return {
    home,
    dataHome: own ?? join(data, "ctxbridge"),
    stateHome: own === undefined ? join(state, "ctxbridge") : join(own, "state"),
    claudeDir: claudeDir ?? configFolder(home),
    claudeConfig: stateFile(home, claudeDir),
    named: (variable) => absolute(env[variable]),
    configFile: absolute(env["CTXBRIDGE_CONFIG"]) ?? join(config, "ctxbridge", "config.toml"),
    temporary: windows
      ? (absolute(env["TEMP"]) ?? join(windows.local, "Temp"))
      : (absolute(env["TMPDIR"]) ?? "/tmp"),
  }
}

export interface Settings {
  readonly paths: PathsAndPolicy
  readonly resolved: Resolved
  /** Files that could not be read, or not as TOML, each with the reason. */
  readonly broken: readonly string[]
}

/**
 * Makes `[restore] budget = 1` and `"restore.budget" = 1` the same. Goes no deeper than options do: a project's file may
 * nest ten thousand tables.
 */
function flatten(table: Record<string, unknown>): Layer {
  const flat: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(table)) {
    const isTable = typeof value === "object" && value !== null && !Array.isArray(value)
    // Where an option is expected, a table or a date is just another invalid value.
    if (isTable && !Object.hasOwn(OPTIONS, name)) {
      for (const [option, one] of Object.entries(value)) flat[`${name}.${option}`] = one
    } else flat[name] = value
  }
  return flat
}

/** In bytes. A project's file comes with `git clone`, and may be a link. */
const LARGEST = 64 << 10

function readToml(path: string, broken: string[]): Layer {
  // Most people have no file, and an error costs six times as much as a check.
  if (!existsSync(path)) return {}
  try {
    const text = readOrdinary(path, LARGEST)
    if (text === undefined) throw new Error(`not a file of at most ${LARGEST} bytes`)
    return flatten(Bun.TOML.parse(text) as Record<string, unknown>)
  } catch (error) {
    broken.push(`${path}: ${messageOf(error)}`)
    return {}
  }
}

/** The nearest `.ctxbridge.toml` at or above `cwd`; the home folder itself is not a project. */
function projectFile(cwd: string, home: string): string | undefined {
  for (let dir = cwd, depth = 0; depth < 64; dir = dirname(dir), depth++) {
    if (dir === home || dir === dirname(dir)) return undefined
    const path = join(dir, ".ctxbridge.toml")
    if (existsSync(path)) return path
  }
  return undefined
}

/**
 * Reads all sources once.
 *
 * @param cwd the project's folder; undefined: no project file is read
 */
export function loadSettings(cwd?: string, env: Env = process.env): Settings {
  const paths = resolvePlaces(env)
  const broken: string[] = []
  const project = cwd === undefined ? undefined : projectFile(cwd, paths.home)
  const resolved = resolveOptions({
    env,
    project: project === undefined ? {} : readToml(project, broken),
    user: readToml(paths.configFile, broken),
  })
  const { config } = resolved
  const secrets = { enabled: config["secrets.enabled"], patterns: config["secrets.patterns"] }
  return { paths: { ...paths, secrets, exclude: config["capture.exclude"] }, resolved, broken }
}

/** Adds the project's file, for callers that learn only later which project it is. Reads nothing if there is none. */
export function withProject(settings: Settings, cwd: string | undefined): Settings {
  if (cwd === undefined || projectFile(cwd, settings.paths.home) === undefined) return settings
  return loadSettings(cwd)
}

/** What the environment says of the time zone; `""`: the system's. */
export const timeZone = (env: Env = process.env): string => env["TZ"] ?? ""

/** The user's editor: a command line, as other programs take it; undefined if none is named. */
export const userEditor = (env: Env = process.env): string | undefined => env["VISUAL"] || env["EDITOR"]

/** Whether to use colour: on a terminal, unless the user opted out (no-color.org). */
export function wantsColor(isTerminal: boolean, env: Env = process.env): boolean {
  return isTerminal && (env["NO_COLOR"] ?? "") === "" && !isDumb(env)
}

/** Whether the terminal is one that understands nothing. */
export const isDumb = (env: Env = process.env): boolean => env["TERM"] === "dumb"

/** The user's pager, a command line; undefined if none is wanted. Only the environment names it, never a project. */
export function pagerCommand(env: Env = process.env): string | undefined {
  const named = (env["CTXBRIDGE_PAGER"] ?? env["PAGER"] ?? "less -R").trim()
  return named === "" || named === "cat" || isDumb(env) ? undefined : named
}

/**
 * What the user's environment tells Claude Code about its window and compactions. Values that it ignores are ignored
 * here.
 */
export function claudeLimits(env: Env = process.env): ClaudeLimits {
  const percent = Number(env["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"])
  const window = Number(env["CLAUDE_CODE_AUTO_COMPACT_WINDOW"])
  const most = Number(env["CLAUDE_CODE_MAX_CONTEXT_TOKENS"])
  const isOn = (name: string): boolean => /^\s*(?:1|true|yes|on)\s*$/i.test(env[name] ?? "")
  return {
    ...(percent > 0 && percent <= 100 ? { percent } : {}),
    ...(window >= 100_000 ? { window } : {}),
    ...(most > 0 ? { most } : {}),
    ...(isOn("CLAUDE_CODE_DISABLE_1M_CONTEXT") ? { no1M: true } : {}),
    ...(isOn("DISABLE_COMPACT") ? { off: "all" } : isOn("DISABLE_AUTO_COMPACT") ? { off: "automatic" } : {}),
  }
}

/** Limits that the user's environment and files set to Claude Code's window. */
export interface ClaudeLimits {
  /** Where Claude Code compacts, in percent of the usable window. */
  readonly percent?: number
  /** Maximum number of tokens that Claude Code counts on. */
  readonly window?: number
  /** Tokens of the window of a model that Claude Code does not know; of any, if nothing is compacted. */
  readonly most?: number
  /** No window larger than 200,000 tokens. */
  readonly no1M?: boolean
  /** Compactions that are switched off: those that Claude Code begins by itself, or `/compact` too. */
  readonly off?: "automatic" | "all"
  /** What Claude Code's state file and its settings say of compactions that it begins by itself. */
  readonly autoCompact?: { readonly state?: boolean; readonly settings?: boolean }
}

/** A variable of Claude Code's, as the environment has it. Its settings files come before that. */
export const claudeVariable = (
  name: "CLAUDE_CODE_EXTRA_BODY" | "ANTHROPIC_BASE_URL" | "CLAUDE_CODE_GIT_BASH_PATH",
  env: Env = process.env,
): string | undefined => env[name] || undefined

/** What Claude Code (from 2.1 on) tells a server that it starts: its project's folder and its session. */
export function toldToServer(env: Env = process.env): {
  readonly project: string | undefined
  readonly session: string | undefined
} {
  return { project: absolute(env["CLAUDE_PROJECT_DIR"]), session: env["CLAUDE_CODE_SESSION_ID"] || undefined }
}

/** Process id of the Claude Code that started us. Set since some version after 2.1.112. */
export function claudeProcess(env: Env = process.env): number | undefined {
  const id = Number(env["CLAUDE_PID"])
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

/** Width of the terminal in columns, if the shell exported it. */
export function columnsFromEnv(env: Env = process.env): number | undefined {
  const columns = Number(env["COLUMNS"])
  return Number.isInteger(columns) && columns >= 20 ? columns : undefined
}

/** Whether the terminal can show more than ASCII: by LC_ALL, LC_CTYPE or LANG, the first that has a value (locale(7)). */
export const wantsUnicode = (env: Env = process.env): boolean =>
  speaksUtf8(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || undefined, process.platform)

/** What the environment tells of the terminal. */
export interface TerminalTraits {
  /** It understands no escape sequences. */
  readonly isDumb: boolean
  /** It shows more than ASCII. */
  readonly isUnicode: boolean
  readonly isTmux: boolean
  /** It is on another computer. */
  readonly isRemote: boolean
  /** Which system of windows it belongs to. */
  readonly hasWayland: boolean
  readonly hasX11: boolean
  /** Whether an agent has started us, as far as agents tell what they start. */
  readonly isInAgent: boolean
}

/** What agents put into the environment of the commands that their models run. */
const OF_AGENTS = [
  // Of any.
  "AGENT",
  "AI_AGENT",
  "AMP_CURRENT_THREAD_ID",
  "AUGMENT_AGENT",
  "CLAUDECODE",
  "CLINE_ACTIVE",
  "CODEX_CI",
  "CODEX_SANDBOX",
  "CODEX_SANDBOX_NETWORK_DISABLED",
  "CODEX_THREAD_ID",
  "COPILOT_CLI",
  "CURSOR_AGENT",
  "GEMINI_CLI",
  "GOOSE_TERMINAL",
  "OPENCODE",
  "OPENCODE_CLIENT",
  "QWEN_CODE",
]

export function terminalTraits(env: Env = process.env): TerminalTraits {
  const isSet = (name: string): boolean => (env[name] ?? "") !== ""
  return {
    isDumb: isDumb(env),
    isUnicode: wantsUnicode(env),
    isTmux: isSet("TMUX"),
    isRemote: isSet("SSH_CONNECTION") || isSet("SSH_TTY"),
    hasWayland: isSet("WAYLAND_DISPLAY"),
    hasX11: isSet("DISPLAY"),
    isInAgent: OF_AGENTS.some(isSet),
  }
}

/** The environment for our child processes, without the variables that would turn our binary into another program. */
export function childEnvironment(env: Env = process.env): Record<string, string | undefined> {
  return { ...env, ...NO_BUN_VARIABLES }
}

/** The folders in which programs are looked for, without relative ones. */
export const foldersOfPath = (env: Env = process.env): string[] =>
  (env["PATH"] ?? "").split(process.platform === "win32" ? ";" : ":").filter(isAbsolute)

/** What Claude Code tells its children of the session that they are in. */
const OF_ITS_SESSION =
  /^(?:CLAUDECODE|CLAUDE_CODE_(?:ENTRYPOINT|SESSION_ID|SSE_PORT|CHILD_SESSION)|CLAUDE_(?:PID|EFFORT|ENV_FILE|PROJECT_DIR|PLUGIN_ROOT|PLUGIN_DATA))$/

/**
 * The environment for a Claude Code that we start ourselves: a session of its own, which our hooks leave alone even if
 * they were called, and which thinks, reads and fetches nothing that we have not asked for: no file either that the
 * prompt mentions (`@path`).
 */
export function clientEnvironment(env: Env = process.env): Record<string, string | undefined> {
  const kept = Object.entries(env).filter(([name]) => !OF_ITS_SESSION.test(name))
  return {
    ...childEnvironment(Object.fromEntries(kept)),
    CTXBRIDGE_CAPTURE: "off",
    CLAUDE_CODE_DISABLE_ATTACHMENTS: "1",
    CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    // Earlier clients know only the last one, which later ones heed only with some models.
    CLAUDE_CODE_DISABLE_THINKING: "1",
    DISABLE_AUTOUPDATER: "1",
    MAX_THINKING_TOKENS: "0",
  }
}

/** The environment of a hook as Claude Code would start it here, but with another archive. */
export const withArchive = (
  dataHome: string,
  env: Env = process.env,
): Record<string, string | undefined> => ({
  ...env,
  CTXBRIDGE_HOME: dataHome,
})

/** The environment of an agent that is to use another folder; undefined: its own. */
export const withAgentFolder = (
  variable: string | undefined,
  folder: string | undefined,
  env: Env = process.env,
): Record<string, string | undefined> =>
  variable === undefined || folder === undefined ? { ...env } : { ...env, [variable]: folder }

/** Names of the variables that are set. Their values may be secret and are never looked at. */
export const variablesSet = (env: Env = process.env): string[] =>
  Object.keys(env).filter((name) => (env[name] ?? "") !== "")

/** The environment for a child that must see nothing of the user's: no archive, settings or options. */
export function isolatedEnvironment(
  home: string,
  env: Env = process.env,
): Record<string, string | undefined> {
  const options = new Set<string>(Object.values(OPTIONS).flatMap((option) => option.env))
  for (const variable of agentVariables()) options.add(variable)
  const kept = Object.entries(env).filter(
    ([name]) => !options.has(name) && !/^(CTXBRIDGE_|CLAUDE|XDG_)/.test(name),
  )
  return {
    ...childEnvironment(Object.fromEntries(kept)),
    HOME: home,
    ...(process.platform === "win32" && {
      USERPROFILE: home,
      LOCALAPPDATA: join(home, "AppData", "Local"),
      APPDATA: join(home, "AppData", "Roaming"),
    }),
    CTXBRIDGE_HOME: join(home, "archive"),
    CLAUDE_CONFIG_DIR: configFolder(home),
  }
}

/**
 * Where the user wants entries kept without saying so each time.
 *
 * @param option `sync.to`; empty: not set
 */
export const targetWishes = (option: string, env: Env = process.env) => ({
  to: namedBy("CTXBRIDGE_SYNC_TO", env["CTXBRIDGE_SYNC_TO"]) ?? namedBy("sync.to", option),
  server: (env["RUVECTOR_HOST"] ?? "") !== "",
  agentdb: env["CTXBRIDGE_AGENTDB"] || undefined,
})

const namedBy = <By extends string>(by: By, named: string | undefined) => (named ? { named, by } : undefined)

/** Passphrase of an encrypted folder, if the environment has one. */
export const passphraseVariable = (env: Env = process.env): string | undefined =>
  env["CTXBRIDGE_SYNC_PASSPHRASE"] || undefined

/** What the environment says about a PostgreSQL server; the design documents' variables come before libpq's. */
export function serverVariables(
  env: Env = process.env,
): Readonly<Record<ServerVariable, string | undefined>> {
  const either = (name: string): string | undefined =>
    env[`RUVECTOR_${name}`] || env[`PG${name}`] || undefined
  // False is only the default there, so whoever copied it has chosen nothing.
  const isWanted = /^(?:1|true|on|yes)$/i.test(env["RUVECTOR_SSL"] ?? "")
  return {
    host: either("HOST"),
    port: either("PORT"),
    database: either("DATABASE"),
    user: either("USER"),
    password: either("PASSWORD"),
    sslmode: isWanted ? "verify-full" : either("SSLMODE"),
    sslrootcert: either("SSLROOTCERT"),
  }
}

type ServerVariable = "host" | "port" | "database" | "user" | "password" | "sslmode" | "sslrootcert"

/* What a terminal's locale says of it. Pure. */

/**
 * Whether the terminal shows more than ASCII, by the first of its variables that is set (locale(7)). Where none is,
 * POSIX says no; macOS and Windows do not set them.
 *
 * @param locale the value of LC_ALL, else LC_CTYPE, else LANG
 */
export const speaksUtf8 = (locale: string | undefined, platform: string): boolean =>
  locale === undefined ? platform !== "linux" : /utf-?8/i.test(locale)
