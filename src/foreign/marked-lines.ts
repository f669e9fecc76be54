/**
 * Turns another tool's session into lines of a transcript. Pure.
 *
 * The lines look like the host's, so that the same decoder reads them. Each is marked: `ctxbridge.import` names the
 * tool, the file and the row. Their content is not trusted.
 */
import { parseJson } from "../util/parse-json.ts"
import type { ForeignSession, Item, Tool } from "./foreign-session.ts"

export interface Provenance {
  readonly tool: Tool
  /** Absolute path of the archive. */
  readonly file: string
  /** Hash of the archive as it was read, in hexadecimal. */
  readonly sha256: string
}

export interface MadeLine {
  /** The same for the same text, in whatever file and row it is. */
  readonly uuid: string
  readonly text: string
}

/** The first line of a session's copy, which records the source of all its lines. */
export function firstLine(session: ForeignSession, from: Provenance): MadeLine {
  const uuid = nameOf(from.tool, session.id, "", "")
  const { tool, file, sha256 } = from
  return line(uuid, {
    type: "ctxbridge-import",
    uuid,
    sessionId: session.id,
    ctxbridge: { import: { tool, sha256, file } },
  })
}

export function markedLine(session: ForeignSession, item: Item, { tool, sha256 }: Provenance): MadeLine {
  const uuid = nameOf(tool, session.id, item.kind, item.key)
  const mark = { tool, sha256, table: item.table, row: item.row, ...(item.fields && { fields: item.fields }) }
  return line(uuid, {
    ...contentOf(item, uuid),
    uuid,
    parentUuid: null,
    isSidechain: false,
    sessionId: session.id,
    timestamp: item.time,
    cwd: session.cwd,
    ctxbridge: { import: mark },
  })
}

const line = (uuid: string, fields: object): MadeLine => ({ uuid, text: `${JSON.stringify(fields)}\n` })

function contentOf({ kind, text, tool, model, usage }: Item, uuid: string): object {
  switch (kind) {
    case "title":
      return { type: "custom-title", customTitle: text }
    case "prompt":
      return { type: "user", message: { role: "user", content: text } }
    case "note":
      return { type: "user", isMeta: true, message: { role: "user", content: text } }
    case "result":
      return {
        type: "user",
        message: {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: tool?.id ?? "", content: text }],
        },
      }
    case "call":
      return {
        type: "assistant",
        message: {
          role: "assistant",
          content: [{ type: "tool_use", id: tool?.id ?? "", name: tool?.name ?? "", input: inputOf(text) }],
        },
      }
    case "answer":
      return {
        type: "assistant",
        message: {
          role: "assistant",
          ...(usage && { id: uuid, usage }),
          ...(model && { model }),
          content: [{ type: "text", text }],
        },
      }
  }
}

function inputOf(text: string): unknown {
  const input = parseJson(text)
  return input === undefined ? text : input
}

/** A name in the form of a UUID (version 8: custom). */
function nameOf(...parts: readonly string[]): string {
  const hex = new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Ids that are valid file names and that the host's layout does not reserve for subagents. */
const PLAIN = /^(?!agent-)[A-Za-z0-9][\w-]{0,127}$/

/** The session's name in our archive: the tool's name is added so that it does not clash with the host's session. */
export function sessionName(session: string, tool: Tool): string {
  const hash = (): string => `s${Bun.hash.xxHash64(session, 0n).toString(16)}`
  return `${PLAIN.test(session) ? session : hash()}~${tool}`
}
