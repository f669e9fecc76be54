/**
 * Our server in the text of opencode's settings, which may have remarks and commas behind the last of a list. Every byte
 * that is not ours stays, and what an edit makes of it is read again before it is believed. Pure.
 */
import { CtxError } from "../../base/errors.ts"
import { plainJson } from "../../base/json-files.ts"
import {
  hasSiblings,
  inserted,
  isBlankJson,
  type JsonNode,
  member,
  parseObject,
  shapeError,
  splitBom,
  without,
  withValue,
  written,
} from "../../base/json-text.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { expectOurBinary } from "../../claude/install/hooks-table.ts"
import type { WithOurs, WithoutOurs } from "../../claude/install/register.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import { NO_BUN_VARIABLES } from "../../config/unused-variables.ts"

const SERVERS = "mcp"
/** opencode writes it into a file without it. */
const SCHEMA = { $schema: "https://opencode.ai/config.json" }

const entryFor = (exePath: string) => ({
  type: "local",
  command: [exePath, "mcp"],
  environment: NO_BUN_VARIABLES,
  enabled: true,
})

/** @throws CtxError `settings-taken` when somebody else's server has our name, `settings-syntax`, `settings-shape` */
export function addOpencodeServer(text: string | undefined, exePath: string): WithOurs {
  expectOurBinary(exePath)
  const [bom, source] = splitBom(text)
  const done = (now: string, isNew: boolean): WithOurs => {
    expectSame(source, now)
    const names = [SERVER_NAME]
    return { text: bom + now, added: isNew ? names : [], replaced: isNew ? [] : names }
  }
  const wanted = entryFor(exePath)
  const list = { [SERVER_NAME]: wanted }
  if (isBlankJson(source)) return done(written(source, { ...SCHEMA, [SERVERS]: list }), true)
  const root = treeIn(source)
  const servers = serversIn(root)
  if (servers === undefined) return done(put(source, root, SERVERS, list), true)
  const entry = member(servers, SERVER_NAME)
  if (entry === undefined) return done(put(source, servers, SERVER_NAME, wanted), true)
  const [program] = ourCommand(entry) ?? []
  if (program === undefined)
    throw new CtxError("settings-taken", `${SERVERS}.${SERVER_NAME} is another server`, {
      hint: "rename it, or leave ours out with --no-mcp",
    })
  // Only the path may be out of date; whatever else the user has set of it stays.
  if (program.value === exePath) return { text: bom + source, added: [], replaced: [] }
  return done(withValue(source, program, exePath), false)
}

/** Without our server, and the list too if only we had filled it. */
export function removeOpencodeServer(text: string, original?: string): WithoutOurs {
  const [bom, source] = splitBom(text)
  if (isBlankJson(source)) return { text, removed: [] }
  const servers = serversIn(treeIn(source))
  const entry = member(servers, SERVER_NAME)
  if (entry === undefined || ourCommand(entry) === undefined) return { text, removed: [] }
  const own = entry.parent!
  const hadList =
    original !== undefined && !isBlankJson(original) && serversIn(treeIn(original)) !== undefined
  const now = without(source, hasSiblings(own) || hadList || isRemarked(source, own) ? own : servers!.parent!)
  expectSame(source, now)
  return { text: bom + now, removed: [SERVER_NAME] }
}

export const hasOpencodeServer = (text: string | undefined): boolean => {
  const source = splitBom(text)[1]
  const entry = isBlankJson(source) ? undefined : member(serversIn(treeIn(source)), SERVER_NAME)
  return entry !== undefined && ourCommand(entry) !== undefined
}

const STRING_OR_REMARK = /"(?:[^"\\\n]|\\.)*"|\/[/*]/g

const hasRemarks = (text: string): boolean =>
  text.matchAll(STRING_OR_REMARK).some(([piece]) => !piece.startsWith('"'))

/** Whether somebody has written a remark beside the only child of a container. */
function isRemarked(source: string, { parent, offset, length }: JsonNode): boolean {
  const { offset: from, length: size } = parent!
  return hasRemarks(source.slice(from, offset) + source.slice(offset + length, from + size))
}

/** Whether nothing but the schema is left. */
export function isEmptyConfig(text: string): boolean {
  const source = splitBom(text)[1]
  if (isBlankJson(source)) return true
  return !hasRemarks(source) && Object.keys(settingsIn(source)).every((name) => name === "$schema")
}

/** The words of the command, if it starts one of our binaries as a server, wherever that is or was. */
function ourCommand(entry: JsonNode): readonly JsonNode[] | undefined {
  const words = member(entry, "command")?.children ?? []
  const [program, first] = words
  return typeof program?.value === "string" && isOurBinary(program.value) && first?.value === "mcp"
    ? words
    : undefined
}

function serversIn(root: JsonNode | undefined): JsonNode | undefined {
  const servers = member(root, SERVERS)
  if (servers !== undefined && servers.type !== "object") throw shapeError(SERVERS, "an object", servers)
  return servers
}

function put(source: string, container: JsonNode, key: string, value: unknown): string {
  const { offset, length, children = [] } = container
  // What is written into an empty object takes the place of all that is in it.
  if (children.length === 0 && source.slice(offset + 1, offset + length - 1).trim() !== "") throw byHand()
  return inserted(source, container, key, value)
}

const byHand = (): CtxError =>
  new CtxError("settings-shape", `${SERVERS} is written in a way that is not edited here`, {
    hint: "nothing was changed; leave the server out with --no-mcp",
  })

/** Whatever is not ours means what it meant. */
function expectSame(before: string, after: string): void {
  const [was, is] = [before, after].map((text) => JSON.stringify(othersIn(text)))
  if (was !== is) throw byHand()
}

function othersIn(text: string): object {
  if (isBlankJson(text)) return SCHEMA
  const { [SERVERS]: servers, ...rest } = settingsIn(text)
  const { [SERVER_NAME]: _ours, ...others } = (servers ?? {}) as Record<string, unknown>
  return Object.keys(others).length === 0 ? rest : { ...rest, [SERVERS]: others }
}

const treeIn = (source: string): JsonNode => parseObject(plainJson(source))

const settingsIn = (source: string): Record<string, unknown> =>
  JSON.parse(plainJson(source)) as Record<string, unknown>
