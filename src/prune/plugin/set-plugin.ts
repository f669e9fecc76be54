/** `prune plugin`: writes the plugin and has Claude Code load it, and takes both away. */

import { existsSync, mkdirSync, rmSync } from "node:fs"
import RECALL from "../../../plugin/skills/recall/SKILL.md" with { type: "text" }
import { readText, targetOf } from "../../base/edited-file.ts"
import { tryTo, writeWhole } from "../../base/files.ts"
import { isEmptySettings, splitBom } from "../../base/json-text.ts"
import { dirname, join } from "../../base/path.ts"
import { type ClaudeEvent, hookEntry } from "../../claude/hooks.ts"
import type { Installed } from "../../claude/install/clients.ts"
import { hookStatus, serverStatus } from "../../claude/install/hook-status.ts"
import { HOST_EVENTS, hookCommand } from "../../claude/install/hooks-table.ts"
import {
  type Ours,
  originalText,
  readRecord,
  register,
  removeIfEmpty,
  type SettingsChange,
  unregister,
  type WithOurs,
  type WithoutOurs,
} from "../../claude/install/register.ts"
import type { ClaudeFolders } from "../../claude/install/registration.ts"
import { variable, withFormer, withVariable } from "../../claude/install/settings-edit.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import { settingsPath } from "../../claude/settings/read-settings.ts"
import { ASKS_PLUGINS, atLeast } from "../../claude/versions.ts"
import { NO_BUN_VARIABLES } from "../../config/unused-variables.ts"
import type { WayState } from "../way.ts"
import MODULE from "./compact-module.js" with { type: "text" }

interface PluginOptions extends ClaudeFolders {
  /** Work out the change but write nothing. */
  readonly dryRun: boolean
}

export const pluginFolder = ({ dataHome }: Pick<ClaudeFolders, "dataHome">): string =>
  join(dataHome, "plugin")

/** Repeating it brings the files up to date. */
export function setPlugin(options: PluginOptions, exePath: string, version: string): SettingsChange {
  const ours = {
    ...oursIn(options),
    add: (text: string | undefined) => addPluginFolder(text, pluginFolder(options)),
  }
  // A file that cannot be read is told before anything is written.
  const tried = register(ours, { ...placed(options), dryRun: true })
  if (options.dryRun) return tried
  const contents = {
    exePath,
    version,
    hooks: hookStatus(options, exePath).every(
      ({ installed, stale }) => installed.length + stale.length === 0,
    ),
    server: serverStatus(options, exePath).every(({ command }) => command === null),
  }
  for (const [path, text] of pluginFiles(contents)) {
    const file = join(pluginFolder(options), path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeWhole(file, text)
  }
  return register(ours, placed(options))
}

export function revertPlugin(options: PluginOptions): SettingsChange {
  const change = unregister(oursIn(options), placed(options))
  if (!options.dryRun) {
    rmSync(pluginFolder(options), { recursive: true, force: true })
    removeIfEmpty(recordsIn(options))
  }
  return change
}

/** Whether we have named the plugin in the user's settings. */
export const isPluginSet = (places: ClaudeFolders): boolean =>
  readRecord(recordsIn(places), targetOf(settingsPath("user", places))) !== undefined

const recordsIn = (places: ClaudeFolders): string => join(places.dataHome, "prune", "plugin")

const placed = (options: PluginOptions) => ({ dataHome: recordsIn(options), dryRun: options.dryRun })

function oursIn(places: ClaudeFolders): Ours {
  const file = settingsPath("user", places)
  return {
    file,
    folderMode: 0o700,
    isPrivate: true,
    remove: (text) =>
      removePluginFolder(text, pluginFolder(places), originalText(recordsIn(places), targetOf(file))),
    isEmpty: isEmptySettings,
  }
}

/* Whether a program lets plugins answer compactions, and whether ours does. */

export function pluginWay({ version }: Installed, places: ClaudeFolders): WayState {
  const folder = pluginFolder(places)
  const settings = tryTo(() => readText(settingsPath("user", places)))
  const folders = tryTo(() => variable(settings ?? "", PLUGIN_DIRS)) ?? ""
  const isSet = folders.split(":").includes(folder)
  const isThere = existsSync(join(folder, "hooks", "compact.mjs"))
  return {
    way: "plugin",
    ...(!atLeast(version, ASKS_PLUGINS) && {
      unsupported: `only ${ASKS_PLUGINS.join(".")} and later ask plugins`,
    }),
    isActive: isSet && isThere,
    ...(isSet && {
      detail: isThere ? `loaded from ${folder}` : `${folder} is gone: ctxbridge prune plugin writes it anew`,
    }),
  }
}

/* Adds our plugin's folder to those that Claude Code loads, in the text of its settings, and removes it. Pure. */

/** Folders with a colon between them. It counts in the user's own settings, not in a project's. */
const PLUGIN_DIRS = "CLAUDE_CODE_PLUGIN_DIRS"

const foldersIn = (value: string | undefined): string[] =>
  (value ?? "").split(":").filter((one) => one !== "")

/** @param text undefined: the file does not exist */
function addPluginFolder(text: string | undefined, folder: string): WithOurs {
  const [bom, source] = splitBom(text)
  const there = variable(source, PLUGIN_DIRS)
  const folders = foldersIn(there)
  if (folders.includes(folder)) return { text: bom + source, added: [], replaced: [] }
  const now = withVariable(source, PLUGIN_DIRS, [...folders, folder].join(":"))
  const names = [PLUGIN_DIRS]
  return {
    text: bom + now,
    added: there === undefined ? names : [],
    replaced: there === undefined ? [] : names,
  }
}

/** @param original the text before us; undefined: not known */
function removePluginFolder(text: string, folder: string, original: string | undefined): WithoutOurs {
  const [bom, source] = splitBom(text)
  const folders = foldersIn(variable(source, PLUGIN_DIRS))
  if (!folders.includes(folder)) return { text, removed: [] }
  const left = folders.filter((one) => one !== folder)
  const former = original === undefined ? undefined : variable(original, PLUGIN_DIRS)
  const value = left.length === 0 ? former : left.join(":")
  return { text: bom + withFormer(source, PLUGIN_DIRS, value, original), removed: [PLUGIN_DIRS] }
}

/* The files of the plugin that `prune plugin` writes: what Claude Code is to find in its folder. Pure. */

/** Of the plugin, and of the marketplace that has only this one. */
const PLUGIN_NAME = "ctxbridge"

interface PluginContents {
  /** Absolute path of the binary. */
  readonly exePath: string
  readonly version: string
  /** Whether the hooks are to be in the plugin, since no settings have them. Else they would be called twice. */
  readonly hooks: boolean
  /** The same of the server. */
  readonly server: boolean
}

/** By path, relative to the plugin's folder. */
function pluginFiles({ exePath, version, hooks, server }: PluginContents): Map<string, string> {
  const manifest = {
    name: PLUGIN_NAME,
    version,
    description: "A memory that compaction cannot destroy: answers compactions from the archive",
  }
  const marketplace = {
    name: PLUGIN_NAME,
    owner: { name: PLUGIN_NAME },
    plugins: [{ name: PLUGIN_NAME, source: "./", description: manifest.description }],
  }
  const events = hooks ? HOST_EVENTS : []
  const entries = events.map(
    (event: ClaudeEvent) => [event, [hookEntry(hookCommand(exePath, event), event)]] as const,
  )
  const servers = { [SERVER_NAME]: { command: exePath, args: ["mcp"], env: NO_BUN_VARIABLES } }
  return new Map([
    [".claude-plugin/plugin.json", json(manifest)],
    [".claude-plugin/marketplace.json", json(marketplace)],
    ["hooks/hooks.json", json({ modules: ["./compact.mjs"], hooks: Object.fromEntries(entries) })],
    ["hooks/compact.mjs", compactModule(exePath)],
    ["skills/recall/SKILL.md", RECALL],
    ...(server ? [[".mcp.json", json({ mcpServers: servers })] as const] : []),
  ])
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

/** The module with the path of the binary, which is a text in it. */
const compactModule = (exePath: string): string =>
  MODULE.replace('"CTXBRIDGE"', () => JSON.stringify(exePath))
