/** Turns as they are shown, exported and sent: in short from the views, whole from the vault. */

import { decodeLine } from "../agents/agents.ts"
import { type Origin, originsOf, withoutForgedWords } from "../agents/origin.ts"
import { cut } from "../base/text.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import type { Part } from "../record/types.ts"
import { foreignIn, isBesideCopy, vaultFile } from "../vault/layout.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { callOfFile } from "./beside-rows.ts"
import type { Database } from "./database.ts"
import { type ToolCall, toolCallsOf } from "./queries/calls.ts"
import { type MessageRow, messagesOf, toolNameOf } from "./queries/messages.ts"
import { type TakenBack, takenBackOf } from "./queries/scope.ts"
import { type TokenUse, usageOf } from "./queries/token-use.ts"
import { filesOf, type TouchedFile } from "./queries/touched-files.ts"
import { sharedTurnsOf, type TurnRow, turnByHandle, turnId, turnsOf } from "./queries/turns.ts"

/** A turn in short, as the views keep it. Its handle is with `ctx:`. */
export interface Turn extends Omit<TurnRow, "id" | "interrupted" | "takenBack" | "others">, TakenBack {
  readonly interrupted: boolean
  /** Set only on what was fetched from where others may have written it. */
  readonly others?: true
}

export const turnOf = ({ id: _id, takenBack, interrupted, others, ...row }: TurnRow): Turn => ({
  ...row,
  handle: HANDLE_PREFIX + row.handle,
  interrupted: interrupted === 1,
  ...takenBackOf({ takenBack }),
  ...(others === 1 ? { others: true } : {}),
})

/** A session's turns, in their order. */
export const turnsOfSession = (db: Database, session: string): Turn[] => turnsOf(db, session).map(turnOf)

/** What comes before them in a fork: turns of the session that it continues. */
export const turnsBeforeFork = (db: Database, session: string): Turn[] =>
  sharedTurnsOf(db, session).map(turnOf)

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

/** A turn without its messages. */
interface TurnHead extends Omit<Turn, "tools" | "prompt" | "answer"> {
  readonly tools: readonly ToolCall[]
  readonly files: readonly TouchedFile[]
  readonly usage: readonly TokenUse[]
}

export interface WholeTurn extends TurnHead {
  /** In full, as the human wrote it. */
  readonly prompt: string
  readonly messages: readonly TurnMessage[]
}

export function readTurn(db: Database, dataHome: string, turn: Turn, readers: CopyReaders): WholeTurn {
  const id = turnId(db, turn.handle)
  const head = headOf(db, id, turn)
  const named = new Map(head.tools.map((call) => [call.id, call.name]))
  const toolName = (call: string): string | undefined => named.get(call) || toolNameOf(db, turn.session, call)
  const messages: TurnMessage[] = []
  /** By copy: lines of a file beside the transcript, or `undefined` for a transcript. Told once, not for each line. */
  const beside = new Map<string, string[] | undefined>()
  for (const row of messagesOf(db, id)) {
    const line = lineOf(dataHome, row, readers)
    if (!beside.has(row.copy)) beside.set(row.copy, isBesideCopy(row.copy) ? [] : undefined)
    const texts = beside.get(row.copy)
    if (texts === undefined) messages.push(decoded(turn.session, row, line, toolName))
    else texts.push(utf8.decode(line))
  }
  for (const [copy, texts] of beside)
    if (texts !== undefined)
      putBeside(messages, callOfFile(db, id, copy), cut(texts.join("\n"), LONGEST_OUTPUT, REST))
  return { ...head, prompt: promptIn(messages) ?? turn.prompt, messages }
}

/**
 * Puts all of an output in place of the beginning that the transcript has of it.
 *
 * @param call undefined: nobody knows which call it is of
 */
function putBeside(messages: TurnMessage[], call: string | undefined, text: string): void {
  for (const [n, message] of messages.entries()) {
    const isIts = (part: Part): boolean => part.kind === "toolResult" && part.id === call
    if (!message.parts.some(isIts)) continue
    const parts = message.parts.map((part) => (isIts(part) ? { ...part, text } : part) as ToldPart)
    messages[n] = { ...message, parts }
    return
  }
  const part: ToldPart = { kind: "toolResult", id: call ?? "", text, isError: false, origin: "tool" }
  messages.push({ role: "tool", time: null, sidechain: false, parts: [part] })
}

/** @param handle in full */
export function openTurn(
  db: Database,
  dataHome: string,
  handle: string,
  readers: CopyReaders,
): WholeTurn | undefined {
  const row = turnByHandle(db, handle)
  return row === null ? undefined : readTurn(db, dataHome, turnOf(row), readers)
}

/** A turn's lines, byte for byte, without their newlines and without the files beside them. */
export function* linesOfTurn(
  db: Database,
  dataHome: string,
  turn: Pick<Turn, "handle">,
  readers: CopyReaders,
): Generator<Uint8Array> {
  for (const row of messagesOf(db, turnId(db, turn.handle)))
    if (!isBesideCopy(row.copy)) yield lineOf(dataHome, row, readers)
}

/** The exact bytes of a message's line, without its newline. */
export function lineOf(dataHome: string, row: MessageRow, readers: CopyReaders): Uint8Array {
  return readers.of(vaultFile(dataHome, row.copy)).read(row.offset, row.offset + row.length)
}

const utf8 = new TextDecoder()

/** UTF-16 units of an output that is kept in a file; the rest is for whoever writes that back. */
const LONGEST_OUTPUT = 1_000_000
const REST = "\n… (the rest is in the file that `ctxbridge resurrect` writes back)"

function decoded(
  session: string,
  row: MessageRow,
  line: Uint8Array,
  toolName: (call: string) => string | undefined,
): TurnMessage {
  const record = decodeLine(utf8.decode(line))
  const spoken = withoutForgedWords(record.parts, toolName, record.version)
  const parts = row.role === "host" ? spoken.map(asNotice) : spoken
  const subagent = row.sidechain === 1 || session.includes("/")
  const foreign = foreignIn(row.copy, record.imported)
  const origins = originsOf(parts, { foreign, subagent, toolName })
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

function headOf(db: Database, id: number, turn: Turn): TurnHead {
  const { handle, session, seq, via, started, ended, interrupted, errors } = turn
  return {
    handle,
    session,
    seq,
    via,
    started,
    ended,
    interrupted,
    ...(turn.takenBack ? { takenBack: true } : {}),
    ...(turn.others ? { others: true } : {}),
    tools: toolCallsOf(db, id),
    errors,
    files: filesOf(db, id),
    usage: usageOf(db, id),
  }
}
