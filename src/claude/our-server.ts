/** Our server, as Claude Code's files list it and as it names our tools. Pure. */

import { isOurBinary } from "../base/own-program.ts"
import { type JsonObject, objectOf } from "../record/json.ts"

/** The name under which Claude Code knows our server. */
export const SERVER_NAME = "ctxbridge"

/** The key of the server list, both in `.mcp.json` and in Claude Code's own file. */
export const SERVERS = "mcpServers"

/** A project's servers, which each of its users has to allow. */
export const PROJECT_SERVERS = ".mcp.json"

export const toolName = (tool: string): string => `mcp__${SERVER_NAME}__${tool}`

/** Whether the list of servers in this object has ours, wherever its binary is. */
export function listsOurServer(fields: JsonObject): boolean {
  const { command, args } = objectOf(objectOf(fields[SERVERS])[SERVER_NAME])
  return typeof command === "string" && isOurBinary(command) && Array.isArray(args) && args[0] === "mcp"
}
