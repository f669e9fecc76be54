/** The files of the plugin that `prune plugin` writes: what Claude Code is to find in its folder. Pure. */

import RECALL from "../../../plugin/skills/recall/SKILL.md" with { type: "text" }
import { type HostEvent, hookEntry } from "../../claude/hooks.ts"
import { HOST_EVENTS, hookCommand } from "../../claude/install/hooks-table.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import { NO_BUN_VARIABLES } from "../../config/bun-variables.ts"
import MODULE from "./compact-module.js" with { type: "text" }

/** Of the plugin, and of the marketplace that has only this one. */
export const PLUGIN_NAME = "ctxbridge"

export interface PluginContents {
  /** Absolute path of the binary. */
  readonly exePath: string
  readonly version: string
  /** Whether the hooks are to be in the plugin, since no settings have them. Else they would be called twice. */
  readonly hooks: boolean
  /** The same of the server. */
  readonly server: boolean
}

/** By path, relative to the plugin's folder. */
export function pluginFiles({ exePath, version, hooks, server }: PluginContents): Map<string, string> {
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
  const entries = events.map((event: HostEvent) => [event, [hookEntry(hookCommand(exePath, event))]] as const)
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
