/** Which of our hooks Claude Code would call with its current settings. */

import { existsSync } from "node:fs"
import { decode, readText, targetOf } from "../../base/edited-file.ts"
import { messageOf } from "../../base/errors.ts"
import type { SettingsPlaces } from "../../config/load.ts"
import { pluginsOf, readSettings, type SettingsScope, settingsFiles } from "../settings/read-settings.ts"
import { CLAUDE_TABLE } from "./hooks-table.ts"
import { readOriginal, readRecord } from "./register.ts"
import { type ClaudeFolders, serverPath } from "./registration.ts"
import { addServer, hasOurName, hasServers, serverCommand } from "./server-edit.ts"
import { addHooks } from "./settings-edit.ts"

export interface HookStatus {
  readonly scope: SettingsScope
  readonly file: string
  /** Claude Code's events with a sound hook that calls this binary. */
  readonly installed: readonly string[]
  readonly missing: readonly string[]
  /** Events whose hook calls another binary, is damaged, or appears more than once. */
  readonly stale: readonly string[]
  /** Why the file could not be read. */
  readonly problem: string | undefined
}

/** One entry per existing settings file, and always one for the user scope. */
/** @param table the hooks that should be there */
export function hookStatus(places: ClaudeFolders, exePath: string, table = CLAUDE_TABLE): HookStatus[] {
  return settingsFiles(places)
    .filter(({ scope, file }) => scope === "user" || existsSync(file))
    .map(({ scope, file }) => ({ scope, file, ...look(file, exePath, table) }))
}

function look(file: string, exePath: string, table: typeof CLAUDE_TABLE): Omit<HookStatus, "scope" | "file"> {
  try {
    // Whatever an install would change is not as it should be, but for what is only shown.
    const { added, replaced } = addHooks(readText(file), exePath, false, table)
    const installed = table.events.filter((event) => !added.includes(event) && !replaced.includes(event))
    return { installed, missing: added, stale: replaced, problem: undefined }
  } catch (error) {
    return { installed: [], missing: [...table.events], stale: [], problem: messageOf(error) }
  }
}

/* Whether Claude Code knows our MCP server, according to its files and our own record. */

/**
 * - `registered`: with this binary
 * - `other`: ours, but with another binary or not as an install would write it
 * - `taken`: somebody else's server has our name
 * - `absent`: no install has registered it there
 * - `removed`: an install registered it, and somebody has removed it since
 * - `lost`: an install registered it, but Claude Code's file looks as if that had never happened
 * - `unknown`: the file cannot be read
 */
type ServerState = "registered" | "other" | "taken" | "absent" | "removed" | "lost" | "unknown"

export interface ServerStatus {
  readonly scope: SettingsScope
  readonly file: string
  readonly state: ServerState
  /** The command that Claude Code starts; null if the server is not ours. */
  readonly command: string | null
  /** Why the file could not be read. */
  readonly problem: string | null
}

/** Always the user's; the project's only if it lists a server with our name. */
export function serverStatus(places: ClaudeFolders, exePath: string): ServerStatus[] {
  const [user, project] = (["user", "project"] as const).map((scope) => lookForServer(scope, places, exePath))
  const isWorth = project !== undefined && ["registered", "other", "taken"].includes(project.state)
  return isWorth ? [user!, project] : [user!]
}

function lookForServer(scope: SettingsScope, places: ClaudeFolders, exePath: string): ServerStatus {
  const file = serverPath(scope, places)!
  const told = { scope, file, command: null, problem: null }
  try {
    const target = targetOf(file)
    const text = readText(target)
    const command = (text && serverCommand(text)) ?? null
    if (command !== null) {
      const { replaced } = addServer(text, exePath)
      return { ...told, command, state: replaced.length === 0 ? "registered" : "other" }
    }
    if (text !== undefined && hasOurName(text)) return { ...told, state: "taken" }
    const record = readRecord(places.dataHome, target)
    if (record === undefined) return { ...told, state: "absent" }
    // Whoever removes a server leaves the server list. A Claude Code that overwrites the file without knowing our
    // server writes the list as it was before us, if there was one.
    const original = readOriginal(places.dataHome, record)
    const before = original === undefined || original === "absent" ? undefined : decode(original)
    const hadList = hasServers(before)
    const isLost = text === undefined || (!hadList && !hasServers(text))
    return { ...told, state: isLost ? "lost" : "removed" }
  } catch (error) {
    return { ...told, state: "unknown", problem: messageOf(error) }
  }
}

/* Plugins of ours that Claude Code has enabled. Their hooks call us unless settings have hooks of ours. */

/** As `name@marketplace`. */
export const ourPlugins = (places: SettingsPlaces): string[] => [
  ...new Set(
    readSettings(places).flatMap((file) => pluginsOf(file).filter((name) => /^ctxbridge(@|$)/.test(name))),
  ),
]
