/** Whether the host knows our MCP server, according to its files and our own record. */

import { decode, readText, targetOf } from "../../util/edited-file.ts"
import { messageOf } from "../../util/errors.ts"
import type { SettingsScope } from "../settings/read-settings.ts"
import { readOriginal, readRecord } from "./install-record.ts"
import { type HostFolders, serverPath } from "./registration.ts"
import { addServer, hasOurName, hasServers, serverCommand } from "./server-edit.ts"

/**
 * - `registered`: with this binary
 * - `other`: ours, but with another binary or not as an install would write it
 * - `taken`: somebody else's server has our name
 * - `absent`: no install has registered it there
 * - `removed`: an install registered it, and somebody has removed it since
 * - `lost`: an install registered it, but the host's file looks as if that had never happened
 * - `unknown`: the file cannot be read
 */
type ServerState = "registered" | "other" | "taken" | "absent" | "removed" | "lost" | "unknown"

export interface ServerStatus {
  readonly scope: SettingsScope
  readonly file: string
  readonly state: ServerState
  /** The command that the host starts; null if the server is not ours. */
  readonly command: string | null
  /** Why the file could not be read. */
  readonly problem: string | null
}

/** Always the user's; the project's only if it lists a server with our name. */
export function serverStatus(places: HostFolders, exePath: string): ServerStatus[] {
  const [user, project] = (["user", "project"] as const).map((scope) => look(scope, places, exePath))
  const isWorth = project !== undefined && ["registered", "other", "taken"].includes(project.state)
  return isWorth ? [user!, project] : [user!]
}

function look(scope: SettingsScope, places: HostFolders, exePath: string): ServerStatus {
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
    // Whoever removes a server leaves the server list. A host that overwrites the file without knowing our server
    // writes the list as it was before us, if there was one.
    const original = readOriginal(places.dataHome, record)
    const before = original === undefined || original === "absent" ? undefined : decode(original)
    const hadList = hasServers(before)
    const isLost = text === undefined || (!hadList && !hasServers(text))
    return { ...told, state: isLost ? "lost" : "removed" }
  } catch (error) {
    return { ...told, state: "unknown", problem: messageOf(error) }
  }
}
