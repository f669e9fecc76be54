/** Our MCP server in the text of a file of the host that names servers: put in, brought up to date, taken out. */
import { CtxError } from "../util/errors.ts"
import { expectOurBinary, isOurBinary } from "./hooks-table.ts"
import { apply, hasSiblings, isBlank, member, parseObject, shapeError, splitBom } from "./json-text.ts"
import type { Added, Removed } from "./settings-edit.ts"
import { document, eolOf, insertion, type JsonNode, removal } from "./settings-style.ts"

/** The name under which the host knows us: its tools are `mcp__ctxbridge__search` and so on. */
export const SERVER_NAME = "ctxbridge"

/** Where the host looks for servers, in `.mcp.json` as in its own file. */
const SERVERS = "mcpServers"

/** The host starts it without a shell; the empty variables keep a stray BUN_* from taking us over. */
const entryFor = (command: string) => ({
  type: "stdio",
  command,
  args: ["mcp"],
  env: { BUN_OPTIONS: "", BUN_BE_BUN: "" },
})

/**
 * `text` with our server, as `exePath` serves it. `undefined` is a file that does not exist.
 *
 * @throws CtxError `settings-taken` when somebody else's server has our name
 */
export function addServer(text: string | undefined, exePath: string): Added {
  expectOurBinary(exePath)
  const wanted = entryFor(exePath)
  const [bom, source] = splitBom(text ?? "")
  const done = (now: string, added: string[], replaced: string[] = []): Added => ({
    text: bom + now,
    added,
    replaced,
  })
  if (isBlank(source)) {
    const whole = document({ [SERVERS]: { [SERVER_NAME]: wanted } }, eolOf(source))
    return done(whole + (source === "" ? "\n" : source), [SERVER_NAME])
  }
  const root = parseObject(source)
  const servers = serversIn(root)
  if (servers === undefined) {
    return done(apply(source, insertion(source, root, SERVERS, { [SERVER_NAME]: wanted })), [SERVER_NAME])
  }
  const entry = member(servers, SERVER_NAME)
  if (entry === undefined)
    return done(apply(source, insertion(source, servers, SERVER_NAME, wanted)), [SERVER_NAME])
  if (!isOurs(entry)) {
    throw new CtxError("settings-taken", `${SERVERS}.${SERVER_NAME} is another server`, {
      hint: "rename it, or leave ours out with --no-mcp",
    })
  }
  const command = member(entry, "command")!
  const found = JSON.parse(source.slice(entry.offset, entry.offset + entry.length)) as { command: string }
  const [node, content] =
    JSON.stringify({ ...found, command: exePath }) === JSON.stringify(wanted)
      ? [command, exePath]
      : [entry, wanted]
  if (node === command && found.command === exePath) return done(source, [])
  return done(
    apply(source, { offset: node.offset, length: node.length, content: JSON.stringify(content) }),
    [],
    [SERVER_NAME],
  )
}

/** `text` without our server, and without the list of servers when only we had filled it. */
export function removeServer(text: string, original?: string): Removed {
  const [bom, source] = splitBom(text)
  const servers = isBlank(source) ? undefined : serversIn(parseObject(source))
  const entry = member(servers, SERVER_NAME)
  if (entry === undefined || !isOurs(entry)) return { text, removed: [] }
  const own = entry.parent!
  const kept = hasSiblings(own) || hadServers(original)
  return { text: bom + apply(source, removal(kept ? own : servers!.parent!)), removed: [SERVER_NAME] }
}

/** What our server is started with; undefined where there is none of ours. */
export function serverCommand(text: string): string | undefined {
  const entry = entryIn(text)
  return entry !== undefined && isOurs(entry) ? String(member(entry, "command")!.value) : undefined
}

/** Whether there is a list of servers, or in it one of our name, whosever it is. */
export function namesServers(text: string, which: "any" | "ours" = "any"): boolean {
  return which === "any" ? hadServers(text) : entryIn(text) !== undefined
}

function entryIn(text: string): JsonNode | undefined {
  const source = splitBom(text)[1]
  return isBlank(source) ? undefined : member(serversIn(parseObject(source)), SERVER_NAME)
}

function serversIn(root: JsonNode): JsonNode | undefined {
  const servers = member(root, SERVERS)
  if (servers !== undefined && servers.type !== "object") throw shapeError(SERVERS, "an object", servers)
  return servers
}

function hadServers(original: string | undefined): boolean {
  const source = splitBom(original ?? "")[1]
  return !isBlank(source) && serversIn(parseObject(source)) !== undefined
}

/** Whether it starts a binary of ours, wherever that is or was, as a server. */
function isOurs(entry: JsonNode): boolean {
  const command = member(entry, "command")?.value
  const args = member(entry, "args")?.children ?? []
  return typeof command === "string" && isOurBinary(command) && args[0]?.value === "mcp"
}
