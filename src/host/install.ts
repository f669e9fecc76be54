/**
 * Which of the host's files mention us, and what each contains: hooks and status line in its settings, and the MCP
 * server in a separate file.
 */
import { existsSync, realpathSync } from "node:fs"
import { basename, join } from "node:path"
import { withHostLock } from "./host-lock.ts"
import { recordedTargets } from "./manifest.ts"
import { type Ours, register, type SettingsChange, unregister } from "./register.ts"
import { addServer, removeServer, SERVER_NAME } from "./server-edit.ts"
import { type Added, addHooks, type Removed, removeHooks } from "./settings-edit.ts"
import { addStatusLine, removeStatusLine, type StatusLineState, type StatusLineWish } from "./status-line.ts"

/** Whose settings: the user's, the project's shared ones, or the user's own for this project. */
export type Scope = "user" | "project" | "local"

export const SCOPES: readonly Scope[] = ["user", "project", "local"]

export interface Places {
  readonly home: string
  /** The host's configuration folder if it is not `<home>/.claude`. */
  readonly configDir?: string
  /** Where the host keeps its own state, if not in `.claude.json` in `configDir` or the home folder. */
  readonly hostConfig?: string
  readonly cwd: string
  readonly dataHome: string
}

export interface UninstallOptions extends Places {
  readonly scope: Scope
  /** Work out the change but write nothing. */
  readonly dryRun?: boolean
}

export interface InstallOptions extends UninstallOptions {
  /** Absolute path of the binary that the hooks should call. */
  readonly exePath: string
  /** Default `update`: adds none. */
  readonly statusLine?: StatusLineWish
}

/** The result of an install, including the status line. */
export interface HooksChange extends SettingsChange {
  /** What was done to the status line, or the one that is there. */
  readonly statusLine: StatusLineState
}

/** Path of a scope's settings file. */
export function settingsPath(scope: Scope, places: Places): string {
  if (scope === "user") return join(places.configDir ?? join(places.home, ".claude"), "settings.json")
  return join(places.cwd, ".claude", scope === "local" ? "settings.local.json" : "settings.json")
}

/** The settings file of every scope, without duplicates: in the home folder, the project's file is the user's. */
export function settingsFiles(places: Places): { readonly scope: Scope; readonly file: string }[] {
  const seen = new Set<string>()
  return SCOPES.map((scope) => ({ scope, file: settingsPath(scope, places) })).filter(({ file }) => {
    const real = realFile(file)
    return !seen.has(real) && seen.add(real)
  })
}

/** The path with links resolved, or unchanged if it cannot be resolved. */
function realFile(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}

/** The file in which the host looks for servers; undefined for `local`, which has no file of its own. */
export function serverPath(scope: Scope, places: Places): string | undefined {
  if (scope === "local") return undefined
  if (scope === "project") return join(places.cwd, ".mcp.json")
  // A host that has kept its state here since its first versions still does.
  const legacy = join(places.configDir ?? join(places.home, ".claude"), ".config.json")
  if (existsSync(legacy)) return legacy
  return places.hostConfig ?? join(places.configDir ?? places.home, ".claude.json")
}

/** The user's folder is private; a project's gets the usual mode. */
const folderMode = (scope: Scope): number => (scope === "user" ? 0o700 : 0o777)

const hooksIn = (options: UninstallOptions): Ours => ({
  file: settingsPath(options.scope, options),
  folderMode: folderMode(options.scope),
  remove: removeFromSettings,
})

/** Registers our hooks, and the status line as requested. Repeating it with the same binary changes nothing. */
export function install(options: InstallOptions): HooksChange {
  const { exePath, statusLine: wish = "update" } = options
  let statusLine: StatusLineState = "none"
  const add = (text: string | undefined): Added => {
    const hooks = addHooks(text, exePath)
    const line = addStatusLine(hooks.text, exePath, wish)
    statusLine = line.state
    return { ...hooks, text: line.text }
  }
  return { ...register({ ...hooksIn(options), add }, options), statusLine }
}

/**
 * Removes our hooks. If nobody has touched the file since the install, its former bytes are restored (or the file and
 * the folders created for it are deleted); otherwise only what is ours is cut out.
 */
export function uninstall(options: UninstallOptions): SettingsChange {
  return unregister(hooksIn(options), options)
}

/** Does the same for every file that an install has written, in any project, and for everything of ours in it. */
export function uninstallAll(
  options: Pick<Places, "dataHome"> & { readonly dryRun: boolean },
): SettingsChange[] {
  // Latest first: folders are removed with the install that created them.
  return recordedTargets(options.dataHome)
    .toReversed()
    .map((file) => {
      // A link can have any name, so the name does not tell whether the file holds settings or servers.
      const work = (): SettingsChange => unregister({ file, folderMode: 0o700, remove: removeAll }, options)
      const change = isHostState(file) && !options.dryRun ? withHostLock(file, work) : work()
      return change.removed.includes(SERVER_NAME) ? { ...change, diff: [] } : change
    })
}

const isHostState = (file: string): boolean => /^\.(claude|config)\.json$/.test(basename(file))

const removeFromSettings = removing(removeHooks, removeStatusLine)

const removeAll = removing(removeHooks, removeStatusLine, removeServer)

function removing(...parts: readonly Ours["remove"][]): Ours["remove"] {
  return (text, original) =>
    parts.reduce<Removed>(
      (done, remove) => {
        const { text: now, removed } = remove(done.text, original)
        return { text: now, removed: [...done.removed, ...removed] }
      },
      { text, removed: [] },
    )
}

/** Registers our MCP server in the same way; undefined for a scope without a server file. */
export function installServer(options: InstallOptions): SettingsChange | undefined {
  return onServers(options, (ours) =>
    register({ ...ours, add: (text) => addServer(text, options.exePath) }, options),
  )
}

export function uninstallServer(options: UninstallOptions): SettingsChange | undefined {
  return onServers(options, (ours) => unregister(ours, options))
}

function onServers(
  options: UninstallOptions,
  work: (ours: Ours) => SettingsChange,
): SettingsChange | undefined {
  const file = serverPath(options.scope, options)
  if (file === undefined) return undefined
  const ours = { file, folderMode: folderMode(options.scope), remove: removeServer }
  // The host's state may contain private data, even on the changed line, so the diff is dropped.
  const silent = (): SettingsChange => ({ ...work(ours), diff: [] })
  // The host writes its state file all the time, but never a project's file.
  return options.scope === "user" && options.dryRun !== true ? withHostLock(file, silent) : silent()
}
