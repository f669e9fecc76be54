/** Reads a whole turn back from the vault, since the views only say where its lines are. */
import { decodeLine } from "../agents/claude-code/decode.ts"
import { type Origin, originsOf, withoutForgedRefusals } from "../agents/origin.ts"
import type { Part } from "../transcript/types.ts"
import { isImportedCopy, vaultFile } from "../vault/layout.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "./database.ts"
import { HANDLE_PREFIX } from "./handle-prefix.ts"
import {
  type FileRow,
  filesOf,
  type MessageRow,
  messagesOf,
  type TurnRow,
  type UsageRow,
  usageOf,
} from "./read.ts"
import { type TakenBack, takenBackOf } from "./taken-back.ts"
import { toolNameOf } from "./tool-name.ts"

/** A part together with whose words it is. */
export type ToldPart = Part & { readonly origin: Origin }

export interface TurnMessage {
  /** human, assistant, tool or host. */
  readonly role: string
  readonly time: string | null
  /** Whether it is a subagent's work within this transcript. */
  readonly sidechain: boolean
  readonly parts: readonly ToldPart[]
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** Command, path or pattern, on one line. */
  readonly target: string
  /** null while unanswered. */
  readonly isError: boolean | null
  readonly exitCode: number | null
}

/** A turn without its messages. */
export interface TurnHead extends TakenBack {
  /** With `ctx:`. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly via: string
  readonly started: string | null
  readonly ended: string | null
  readonly interrupted: boolean
  readonly tools: readonly ToolCall[]
  readonly errors: number
  readonly files: readonly FileRow[]
  readonly usage: readonly UsageRow[]
}

export interface WholeTurn extends TurnHead {
  /** In full, as the human wrote it. */
  readonly prompt: string
  readonly messages: readonly TurnMessage[]
}

export function readTurn(db: Database, dataHome: string, turn: TurnRow, readers: CopyReaders): WholeTurn {
  const messages: TurnMessage[] = []
  for (const row of messagesOf(db, turn.id))
    messages.push(decoded(db, turn.session, row, lineOf(dataHome, row, readers)))
  return { ...headOf(db, turn), prompt: promptIn(messages) ?? turn.prompt, messages }
}

/** The exact bytes of a message's line, without its newline. */
export function lineOf(dataHome: string, row: MessageRow, readers: CopyReaders): Uint8Array {
  return readers.of(vaultFile(dataHome, row.copy)).read(row.offset, row.offset + row.length)
}

const utf8 = new TextDecoder()

function decoded(db: Database, session: string, row: MessageRow, line: Uint8Array): TurnMessage {
  const toolName = (id: string): string | undefined => toolNameOf(db, session, id)
  const record = decodeLine(utf8.decode(line))
  const spoken = withoutForgedRefusals(record.parts, toolName, record.version)
  const parts = row.role === "host" ? spoken.map(asNotice) : spoken
  const subagent = row.sidechain === 1 || session.includes("/")
  const imported = record.imported === true || isImportedCopy(row.copy)
  const origins = originsOf(parts, { imported, subagent, toolName })
  return {
    role: row.role,
    time: row.time,
    sidechain: row.sidechain === 1,
    parts: parts.map((part, n) => ({ ...part, origin: origins[n]! })),
  }
}

/** A line alone does not tell a plugin's words from a human's, but the views do. */
function asNotice(part: Part): Part {
  return part.kind === "prompt" ? { kind: "notice", text: part.text } : part
}

function promptIn(messages: readonly TurnMessage[]): string | undefined {
  for (const { parts } of messages) {
    for (const part of parts) if (part.kind === "prompt" || part.kind === "brief") return part.text
  }
  return undefined
}

function headOf(db: Database, turn: TurnRow): TurnHead {
  const { session, seq, via, started, ended, errors } = turn
  return {
    handle: HANDLE_PREFIX + turn.handle,
    session,
    seq,
    via,
    started,
    ended,
    interrupted: turn.interrupted === 1,
    ...takenBackOf(turn),
    tools: toolCallsOf(db, turn.id),
    errors,
    files: filesOf(db, turn.id),
    usage: usageOf(db, turn.id),
  }
}

/** In the order of the calls. */
export function toolCallsOf(db: Database, turn: number): ToolCall[] {
  return db
    .query<Omit<ToolCall, "isError"> & { isError: number | null }, [number]>(
      `SELECT id, name, target, is_error AS isError, exit_code AS exitCode FROM tool_calls
       WHERE turn = ? ORDER BY coalesce(use, result), id`,
    )
    .all(turn)
    .map((row) => ({ ...row, isError: row.isError === null ? null : row.isError === 1 }))
}
