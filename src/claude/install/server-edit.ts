/** Adds, updates and removes our MCP server in the text of a file of Claude Code's that lists servers. */

import { CtxError } from "../../base/errors.ts"
import {
  hasSiblings,
  inserted,
  isBlankJson,
  type JsonNode,
  member,
  parseObject,
  shapeError,
  splitBom,
  treeOf,
  without,
  withValue,
  written,
} from "../../base/json-text.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { NO_BUN_VARIABLES } from "../../config/unused-variables.ts"
import { isObject } from "../../record/json.ts"
import { SERVER_NAME, SERVERS } from "../our-server.ts"
import { expectOurBinary } from "./hooks-table.ts"
import type { WithOurs, WithoutOurs } from "./register.ts"

/** Claude Code starts it without a shell. The empty variables keep a stray BUN_* variable from hijacking the binary. */
const entryFor = (command: string) => ({
  type: "stdio",
  command,
  args: ["mcp"],
  env: NO_BUN_VARIABLES,
})

/**
 * Adds our server, started with `exePath`, to `text`. An `undefined` text is a file that does not exist.
 *
 * @throws CtxError `settings-taken` when somebody else's server has our name
 */
export function addServer(text: string | undefined, exePath: string): WithOurs {
  expectOurBinary(exePath)
  const wanted = entryFor(exePath)
  const [bom, source] = splitBom(text)
  const added = (now: string): WithOurs => ({ text: bom + now, added: [SERVER_NAME], replaced: [] })
  const list = { [SERVER_NAME]: wanted }
  if (isBlankJson(source)) return added(written(source, { [SERVERS]: list }))
  const root = parseObject(source)
  const servers = serversIn(root)
  if (servers === undefined) return added(inserted(source, root, SERVERS, list))
  const entry = member(servers, SERVER_NAME)
  if (entry === undefined) return added(inserted(source, servers, SERVER_NAME, wanted))
  if (!isOurs(entry)) {
    throw new CtxError("settings-taken", `${SERVERS}.${SERVER_NAME} is another server`, {
      hint: "rename it, or leave ours out with --no-mcp",
    })
  }
  const now = withWhatIsOurs(source, exePath)
  return { text: bom + now, added: [], replaced: now === source ? [] : [SERVER_NAME] }
}

/** How it is started is ours. All else that the user has set (limits, tools, more variables) stays. */
function withWhatIsOurs(source: string, exePath: string): string {
  let text = source
  for (const [name, wanted] of Object.entries(entryFor(exePath))) {
    const entry = entryIn(text)!
    const node = member(entry, name)
    if (node === undefined) {
      text = inserted(text, entry, name, wanted)
      continue
    }
    const found: unknown = JSON.parse(text.slice(node.offset, node.offset + node.length))
    // Another word for the same.
    if (name === "type" && found === "local") continue
    const value = isObject(wanted) && isObject(found) ? { ...found, ...wanted } : wanted
    if (JSON.stringify(found) !== JSON.stringify(value)) text = withValue(text, node, value)
  }
  return text
}

/** Removes our server from `text`, and the server list too if only we had filled it. */
export function removeServer(text: string, original?: string): WithoutOurs {
  const [bom, source] = splitBom(text)
  const servers = serversIn(treeOf(source))
  const entry = member(servers, SERVER_NAME)
  if (entry === undefined || !isOurs(entry)) return { text, removed: [] }
  const own = entry.parent!
  const kept = hasSiblings(own) || hasServers(original)
  return { text: bom + without(source, kept ? own : servers!.parent!), removed: [SERVER_NAME] }
}

/** The command that starts our server; undefined if it is not registered. */
export function serverCommand(text: string): string | undefined {
  const entry = entryIn(text)
  return entry !== undefined && isOurs(entry) ? String(member(entry, "command")!.value) : undefined
}

/** Whether there is a server with our name, whoever owns it. */
export const hasOurName = (text: string): boolean => entryIn(text) !== undefined

const entryIn = (text: string): JsonNode | undefined => member(serversIn(treeOf(text)), SERVER_NAME)

function serversIn(root: JsonNode | undefined): JsonNode | undefined {
  const servers = member(root, SERVERS)
  if (servers !== undefined && servers.type !== "object") throw shapeError(SERVERS, "an object", servers)
  return servers
}

/** Whether there is a list of servers. */
export const hasServers = (text: string | undefined): boolean => serversIn(treeOf(text)) !== undefined

/** Whether the entry starts one of our binaries as a server, wherever that binary is or was. */
function isOurs(entry: JsonNode): boolean {
  const command = member(entry, "command")?.value
  const args = member(entry, "args")?.children ?? []
  return typeof command === "string" && isOurBinary(command) && args[0]?.value === "mcp"
}
