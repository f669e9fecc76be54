/**
 * Our server in the text of Codex' `config.toml`, added at its end and cut out again. Every byte that is not ours stays:
 * Codex and people write that file by hand. What an edit makes of it is read again before it is believed. Pure.
 */
import { CtxError, messageOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { splitBom } from "../../base/json-text.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { shellWord } from "../../base/text.ts"
import { expectOurBinary } from "../../claude/install/hooks-table.ts"
import type { WithOurs, WithoutOurs } from "../../claude/install/register.ts"
import { SERVER_NAME } from "../../claude/our-server.ts"
import { NO_BUN_VARIABLES } from "../../config/unused-variables.ts"
import { isObject, type JsonObject, objectOf } from "../../record/json.ts"

const SERVERS = "mcp_servers"

/** Basic strings of TOML are written like JSON's. */
const quoted = (text: string): string => JSON.stringify(text)

function blockFor(exePath: string): string {
  const variables = Object.entries(NO_BUN_VARIABLES).map(([name, value]) => `${name} = ${quoted(value)}`)
  return [
    `[${SERVERS}.${SERVER_NAME}]`,
    `command = ${quoted(exePath)}`,
    'args = ["mcp"]',
    `env = { ${variables.join(", ")} }`,
    "",
  ].join("\n")
}

/**
 * @param text undefined: there is no such file
 * @throws CtxError `settings-taken` when somebody else's server has our name, `settings-syntax`, `settings-shape`
 */
export function addCodexServer(text: string | undefined, exePath: string): WithOurs {
  expectOurBinary(exePath)
  const [bom, source] = splitBom(text)
  const before = parsed(source)
  const entry = entryIn(before)
  if (entry === undefined) {
    const gap = source === "" ? "" : source.endsWith("\n") ? "\n" : "\n\n"
    const now = `${source}${gap}${blockFor(exePath)}`
    const after = tryTo(() => parsed(now))
    if (after === undefined) throw byHand(`codex mcp add ${SERVER_NAME} -- ${shellWord(exePath)} mcp`)
    expectSame(before, after)
    return { text: bom + now, added: [SERVER_NAME], replaced: [] }
  }
  if (!isOurs(entry)) {
    throw new CtxError("settings-taken", `${SERVERS}.${SERVER_NAME} is another server`, {
      hint: "rename it, or leave ours out with --no-mcp",
    })
  }
  // Only the path may be out of date; whatever else the user has set of it stays.
  if (entry["command"] === exePath) return { text: bom + source, added: [], replaced: [] }
  const span = spansOf(source)[0]
  const block = span === undefined ? "" : source.slice(span.from, span.to)
  const renewed = block.replace(
    /^(\s*command\s*=\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*')/m,
    (_all, key: string) => key + quoted(exePath),
  )
  const now = span === undefined ? source : source.slice(0, span.from) + renewed + source.slice(span.to)
  const after = parsed(now)
  if (entryIn(after)?.["command"] !== exePath) throw byHand()
  expectSame(before, after)
  return { text: bom + now, added: [], replaced: [SERVER_NAME] }
}

/** Without our server, and the tables below it. */
export function removeCodexServer(text: string): WithoutOurs {
  const [bom, source] = splitBom(text)
  // Nothing of ours is without its name, whatever the file is.
  if (!source.includes(SERVER_NAME)) return { text, removed: [] }
  const before = parsed(source, `use \`codex mcp remove ${SERVER_NAME}\``)
  if (!isOurs(entryIn(before))) return { text, removed: [] }
  let now = source
  for (const { from, to } of spansOf(source).toReversed()) {
    // Also the blank line that an install puts before it.
    const start = from > 0 && now.slice(0, from).endsWith("\n\n") ? from - 1 : from
    now = now.slice(0, start) + now.slice(to)
  }
  const after = tryTo(() => parsed(now))
  if (after === undefined || entryIn(after) !== undefined) throw byHand()
  expectSame(before, after)
  return { text: bom + now, removed: [SERVER_NAME] }
}

/** Whether Codex starts our server: `off` if it is listed, and switched off there. */
export function codexServer(text: string | undefined): "on" | "off" | undefined {
  const entry = entryIn(parsed(splitBom(text)[1]))
  return isOurs(entry) ? (entry["enabled"] === false ? "off" : "on") : undefined
}

/** The command that starts our server; undefined if none is listed. */
const entryIn = (config: JsonObject): JsonObject | undefined => {
  const entry = objectOf(config[SERVERS])[SERVER_NAME]
  return isObject(entry) ? entry : undefined
}

/** Whether the entry starts one of our binaries as a server, wherever that binary is or was. */
function isOurs(entry: JsonObject | undefined): entry is JsonObject {
  const { command, args } = entry ?? {}
  return typeof command === "string" && isOurBinary(command) && Array.isArray(args) && args[0] === "mcp"
}

/** @param otherwise what to do where Codex reads the file all the same */
function parsed(source: string, otherwise = "use `codex mcp add`, and --no-mcp here"): JsonObject {
  try {
    return Bun.TOML.parse(source) as JsonObject
  } catch (cause) {
    throw new CtxError("settings-syntax", `cannot be read here: ${messageOf(cause)}`, {
      hint: `nothing was changed; if Codex reads it, ${otherwise}`,
      cause,
    })
  }
}

const byHand = (command = `codex mcp remove ${SERVER_NAME}`): CtxError =>
  new CtxError("settings-shape", `${SERVERS} is written in a way that is not edited here`, {
    hint: `nothing was changed; use \`${command}\`, or leave the server out with --no-mcp`,
  })

/** Whatever is not ours means what it meant. */
function expectSame(before: JsonObject, after: JsonObject): void {
  const [was, is] = [before, after].map((config) => JSON.stringify(withoutServer(config)))
  if (was !== is) throw byHand()
}

function withoutServer(config: JsonObject): JsonObject {
  const { [SERVERS]: servers, ...rest } = config
  const { [SERVER_NAME]: _ours, ...others } = objectOf(servers)
  return Object.keys(others).length === 0 ? rest : { ...rest, [SERVERS]: others }
}

interface Span {
  readonly from: number
  readonly to: number
}

/** What a line may hold outside of a text of several lines: such a text's beginning, a short text, a remark. */
const PIECE = /"""|'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#.*/g

/** @returns the marks of the text of several lines that is open behind a line, if one is */
function openBehind(line: string, before: string | undefined): string | undefined {
  let open = before
  let rest = line
  for (;;) {
    if (open !== undefined) {
      const end = open === "'''" ? rest.indexOf(open) : endOfBasic(rest)
      if (end < 0) return open
      rest = rest.slice(end + open.length)
      open = undefined
      continue
    }
    const found = rest.matchAll(PIECE).find(([piece]) => piece === '"""' || piece === "'''")
    if (found === undefined) return undefined
    rest = rest.slice(found.index + found[0].length)
    open = found[0]
  }
}

/** Of three quotation marks that no backslash stands before. */
function endOfBasic(text: string): number {
  const found = /^(?:[^"\\]|\\[\s\S]|"(?!""))*?"""/.exec(text)
  return found === null ? -1 : found[0].length - 3
}

const HEADER = /^[ \t]*\[/
const OURS = new RegExp(
  String.raw`^[ \t]*\[\s*["']?${SERVERS}["']?\s*\.\s*["']?${SERVER_NAME}["']?\s*(?:\.[^\]]*)?\][ \t]*(?:#.*)?\r?$`,
)

/** The tables of our server, each from its header to the next one's line, without blank lines and remarks before that. */
function spansOf(source: string): Span[] {
  const spans: Span[] = []
  let from: number | undefined
  let filled = 0
  let at = 0
  let open: string | undefined
  for (const line of source.split(/(?<=\n)/)) {
    if (open === undefined && HEADER.test(line)) {
      if (from !== undefined) spans.push({ from, to: filled })
      from = OURS.test(line.replace(/\n$/, "")) ? at : undefined
    }
    at += line.length
    open = openBehind(line, open)
    if (/^[ \t]*[^\s#]/.test(line)) filled = at
  }
  if (from !== undefined) spans.push({ from, to: filled })
  return spans
}
