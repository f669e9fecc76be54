/**
 * opencode's rows → lines of a transcript. Each line is one thing that was said or done, and begins with its row's id and
 * the SHA-256 of what follows. opencode changes rows in place: what has changed becomes a further line, and the former one
 * stays. So that little has to be written again, what changes by itself has lines of its own. Pure.
 */
import { parseJson } from "../../base/json-files.ts"
import { isObject, type JsonObject, jsonText, objectOf, stringOf } from "../../record/json.ts"

export type StoredRow = Readonly<Record<string, unknown>>

export interface StoredMessage {
  readonly row: StoredRow
  readonly parts: readonly StoredRow[]
}

/** `opencode run` puts words with spaces between them in quotation marks. */
const QUOTED = /^"((?:[^"\\]|\\.)*)"$/

/** A prompt as it was typed. */
export function typedWords(text: string): string {
  const words = QUOTED.exec(text)?.[1] ?? ""
  return /\s/.test(words) ? words.replaceAll('\\"', '"') : text
}

/** What becomes a line. */
export interface StoredPiece {
  readonly kind: "session" | "part" | "call" | "result" | "cleared" | "message" | "diffs"
  /** The same for the same thing, whatever becomes of it. */
  readonly row: string
  /** What the line says, as JSON with its braces. */
  readonly body: string
  /** SHA-256 of that. */
  readonly sha256: string
  /** Whether opencode had not finished it when nobody seemed to write it any more. */
  readonly isOpen: boolean
}

/** What the last line of a piece has said of it. */
type HeldPiece = Pick<StoredPiece, "sha256" | "isOpen">

/**
 * @param before what the last line of this piece has said. If there is one, this one only keeps what has become of it,
 * unless that was a half: then this one tells the whole
 */
export function pieceLine({ kind, row, body, sha256, isOpen }: StoredPiece, before?: HeldPiece): string {
  const isWhole = before?.isOpen === true && !isOpen
  const again = before === undefined ? "" : isWhole ? `"whole":true,` : `"again":true,`
  const open = isOpen ? `"open":true,` : ""
  return `{"opencode":"${kind}","row":${JSON.stringify(row)},${again}${open}"sha256":"${sha256}",${body.slice(1)}\n`
}

const HEAD =
  /^\{"opencode":"(?:session|part|call|result|cleared|message|diffs)","row":("(?:[^"\\]|\\.)*"),(?:"(?:again|whole)":true,)?("open":true,)?"sha256":"([\da-f]{64})",/

/** Which piece a line is of; undefined if it is none. */
export function pieceIn(
  line: string,
): (HeldPiece & Pick<StoredPiece, "row"> & { readonly body: string }) | undefined {
  const [head, row, open, sha256] = HEAD.exec(line) ?? []
  if (head === undefined || row === undefined || sha256 === undefined) return undefined
  const isOpen = open !== undefined
  return { row: JSON.parse(row) as string, sha256, isOpen, body: `{${line.slice(head.length)}` }
}

export const sha256Hex = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex")

function piece(kind: StoredPiece["kind"], row: string, fields: JsonObject, isOpen = false): StoredPiece {
  const body = jsonText(fields)
  return { kind, row, body, sha256: sha256Hex(body), isOpen }
}

/** Below so many levels things stay in the order that they have: a function that calls itself gets only so far. */
const ORDERED = 1000

/** The same bytes for the same value, however it is ordered. */
function ordered(value: unknown, levels = ORDERED): unknown {
  if (levels === 0) return value
  if (Array.isArray(value)) return value.map((one) => ordered(one, levels - 1))
  if (!isObject(value)) return typeof value === "bigint" ? Number(value) : value
  const fields: [string, unknown][] = Object.keys(value)
    .sort()
    .map((name) => [name, ordered(value[name], levels - 1)])
  return Object.fromEntries(fields)
}

/** What a row holds as JSON; what is none stays text. */
export function dataOf(row: StoredRow): JsonObject {
  const { data } = row
  if (typeof data !== "string") return objectOf(data)
  const parsed = parseJson(data)
  return isObject(parsed) ? parsed : { text: data }
}

/** ms since the epoch, or a date in words → ISO 8601. */
function isoTime(...candidates: readonly unknown[]): string | undefined {
  for (const one of candidates) {
    const ms = typeof one === "string" ? Date.parse(one) : typeof one === "bigint" ? Number(one) : one
    if (typeof ms === "number" && ms > 0 && ms < 8.64e15) return new Date(ms).toISOString()
  }
  return undefined
}

/** Counts and times that change with every step, and what messages tell as well. */
const COUNTED = /^(?:time_updated|time_compacting|cost|tokens(?:_.*)?|summary(?:_.*)?|time|share_url|share)$/

/** The line that tells whose session it is, and the first of a transcript. */
export function sessionPiece(row: StoredRow): StoredPiece {
  const kept = Object.entries(row).filter(([name, value]) => !COUNTED.test(name) && value !== null)
  return piece("session", "session", {
    session: row["id"],
    time: isoTime(row["time_created"], objectOf(row["time"])["created"]),
    cwd: row["directory"],
    data: ordered(Object.fromEntries(kept)),
  })
}

interface MessagePieces {
  readonly pieces: readonly StoredPiece[]
  /** Whether more of it will come: what follows has to wait, or lines would be in another order. */
  readonly isOpen: boolean
}

/**
 * @param isOver whether nobody writes the message any more, so that what is unfinished stays so
 */
export function messagePieces(
  session: string,
  { row, parts }: StoredMessage,
  isOver: boolean,
): MessagePieces {
  const id = String(row["id"])
  const data = dataOf(row)
  const told = objectOf(data["time"])["created"]
  const created = [told, row["time_created"]]
  const model = stringOf(data["modelID"]) ?? stringOf(objectOf(data["model"])["modelID"])
  const said = {
    session,
    message: id,
    ...(typeof told === "number" && { created: told }),
    role: data["role"],
    ...(data["summary"] === true && { isSummary: true }),
    ...(model !== undefined && { model }),
  }
  if (data["role"] === "user" && !isOver) return { pieces: [], isOpen: true }
  const pieces: StoredPiece[] = []
  for (const part of parts) {
    const made = partPieces(part, said, created)
    pieces.push(...made.done)
    if (made.open === undefined) continue
    if (!isOver) return { pieces, isOpen: true }
    pieces.push(...made.open)
  }
  if (!isOver && data["role"] === "assistant" && !isFinished(data)) return { pieces, isOpen: true }
  const isUsers = data["role"] === "user"
  const { summary, ...rest } = data
  const hasSteps = parts.some((part) => dataOf(part)["type"] === "step-finish")
  const fields = {
    ...said,
    time: isoTime(objectOf(data["time"])["completed"], ...created),
    ...(hasSteps && { hasSteps }),
    data: ordered(isUsers ? rest : data),
  }
  pieces.push(piece("message", id, fields, data["role"] === "assistant" && !isFinished(data)))
  // What the user's words have changed in files, counted anew after each step.
  if (isUsers && summary !== undefined)
    pieces.push(piece("diffs", `${id} diffs`, { ...said, time: isoTime(...created), data: ordered(summary) }))
  return { pieces, isOpen: false }
}

/** Whether opencode has written the last of a message of the model's. */
const isFinished = (data: JsonObject): boolean =>
  objectOf(data["time"])["completed"] !== undefined || isObject(data["error"])

interface PartPieces {
  readonly done: readonly StoredPiece[]
  /** What it is so far; undefined unless more of it will come. */
  readonly open?: readonly StoredPiece[]
}

function partPieces(row: StoredRow, said: JsonObject, created: readonly unknown[]): PartPieces {
  const id = String(row["id"])
  const data = dataOf(row)
  const { type, tool } = data
  const state = objectOf(data["state"])
  const time = objectOf(data["time"] ?? state["time"])
  const begun = isoTime(time["start"], row["time_created"], ...created)
  if (type !== "tool") {
    const isStreamed = (type === "text" || type === "reasoning") && said["role"] === "assistant"
    const isOpen = isStreamed && time["end"] === undefined
    const made = [piece("part", id, { ...said, time: begun, data: ordered(data) }, isOpen)]
    return isOpen ? { done: [], open: made } : { done: made }
  }
  const { input, ...outcome } = state
  const { state: _state, ...about } = data
  const call = piece("call", id, { ...said, time: begun, data: ordered({ ...about, state: { input } }) })
  // Its input may not be there yet, and a call is told once.
  if (state["status"] === "pending")
    return { done: [], open: Object.keys(objectOf(input)).length === 0 ? [] : [call] }
  if (state["status"] === "running") return { done: [call], open: [] }
  // Set when opencode no longer sends the output to the model; the row keeps it.
  const { compacted, ...times } = objectOf(state["time"])
  const result = piece("result", `${id} result`, {
    ...said,
    time: isoTime(times["end"], times["start"], row["time_created"], ...created),
    data: ordered({ tool, callID: data["callID"], state: { ...outcome, time: times } }),
  })
  if (compacted === undefined) return { done: [call, result] }
  const cleared = piece("cleared", `${id} cleared`, {
    ...said,
    time: isoTime(compacted),
    data: { compacted },
  })
  return { done: [call, result, cleared] }
}

/* opencode 2 has a row for each message, with all that was said in it, and the kind of the message beside it. */

/**
 * Such a row as opencode 1 would have kept it: a message, or two for a compaction, of what stands for the conversation and
 * what the model has said of it. Read from a preview, and as others describe 2.0, which was not tried.
 */
export function messagesOfRow({ type, data: _data, ...row }: StoredRow, data: JsonObject): StoredMessage[] {
  const id = String(row["id"])
  const message = (about: JsonObject, parts: readonly JsonObject[], name = id): StoredMessage => ({
    row: { ...row, id: name, data: about },
    parts: parts.map((part, n) => ({ id: `${name} ${n}`, time_created: row["time_created"], data: part })),
  })
  switch (type) {
    case "user": {
      const { text, files, skills } = data
      const rest = unlessTold(data, { text: isText, files: Array.isArray, skills: Array.isArray })
      return [message({ ...rest, role: "user" }, [...saidByUser(text), ...toldOf(skills), ...filesIn(files)])]
    }
    case "assistant": {
      const { content, model } = data
      const rest = unlessTold(data, { content: Array.isArray })
      const about = { ...rest, role: "assistant", ...modelOf(model) }
      return [message(about, contentOf(content, objectOf(data["time"])))]
    }
    case "synthetic":
    case "system":
    case "skill": {
      const rest = unlessTold(data, { text: isText })
      return [message({ ...rest, role: "user", kind: type }, toldOf([{ text: data["text"] }]))]
    }
    // The user has typed it, with `!`.
    case "shell": {
      const { command, output, callID = data["shellID"], ...rest } = data
      const { output: printed = output, exit = data["exit"], ...about } = objectOf(output)
      const ended = { status: "completed", output: printed, metadata: { ...about, exit } }
      // Where nothing says so, a command that has told nothing yet is still running.
      const isOver =
        objectOf(data["time"])["completed"] !== undefined || Boolean(printed) || exit !== undefined
      const isRunning = data["status"] === "running" || (data["status"] === undefined && !isOver)
      const state = { ...(isRunning ? { status: "running" } : ended), input: { command }, time: {} }
      return [
        message({ ...rest, role: "user", kind: type }, [
          ...saidByUser(isText(command) ? `!${command}` : undefined),
          { type: "tool", tool: "bash", callID, state },
        ]),
      ]
    }
    case "compaction": {
      const { summary, reason, status = "completed", model, tokens, cost } = data
      if (status !== "completed") return [message({ ...data, role: type }, [])]
      const { model: _model, tokens: _tokens, cost: _cost, ...rest } = unlessTold(data, { summary: isText })
      // It is written as a whole.
      const time = { completed: row["time_created"], ...objectOf(data["time"]) }
      const said = { role: "assistant", summary: true, time, ...modelOf(model), tokens, cost }
      return [
        message({ ...rest, role: "user", kind: type }, [{ type: "compaction", auto: reason === "auto" }]),
        message(said, [{ type: "text", text: summary, time: { end: row["time_created"] } }], `${id} summary`),
      ]
    }
    default:
      return [message({ ...data, role: type }, [])]
  }
}

function modelOf(model: unknown): JsonObject {
  const { id: modelID, providerID } = objectOf(model)
  return { modelID, providerID, model }
}

const isText = (value: unknown): value is string => typeof value === "string"

/** What stays with a message: all but fields that its parts tell, unless those are not what was expected. */
const unlessTold = (
  data: JsonObject,
  told: Readonly<Record<string, (value: unknown) => boolean>>,
): JsonObject =>
  Object.fromEntries(Object.entries(data).filter(([name, value]) => told[name]?.(value) !== true))

const saidByUser = (text: unknown): JsonObject[] =>
  isText(text) && text !== "" ? [{ type: "text", text }] : []

/** What opencode says in the user's place. */
const toldOf = (all: unknown): JsonObject[] =>
  (Array.isArray(all) ? all : []).map((one) => ({ ...objectOf(one), type: "text", synthetic: true }))

const filesIn = (all: unknown): JsonObject[] =>
  (Array.isArray(all) ? all.map(objectOf) : []).map(({ data, mime, ...rest }) => ({
    ...rest,
    type: "file",
    mime,
    ...(isText(data) ? { url: `data:${mime};base64,${data}` } : data !== undefined && { data }),
  }))

/** @param time of the message: what it ended with has no time of its own */
function contentOf(content: unknown, time: JsonObject): JsonObject[] {
  const all = Array.isArray(content) ? content.map(objectOf) : []
  return all.map((one, index) => {
    const { created: start, completed } = objectOf(one["time"])
    const isOver = index < all.length - 1 || time["completed"] !== undefined
    const end = completed ?? (isOver ? (time["completed"] ?? time["created"]) : undefined)
    const times = { ...(start !== undefined && { start }), ...(end !== undefined && { end }) }
    if (one["type"] !== "tool") return { ...one, index, time: times }
    const { id: callID, name: tool, state, ...rest } = one
    return { ...rest, callID, tool, state: { ...stateOf(objectOf(state)), time: times } }
  })
}

function stateOf({ status, content, structured, error, ...rest }: JsonObject): JsonObject {
  const all = Array.isArray(content) ? content.map(objectOf) : []
  const texts = all.flatMap(({ text }) => stringOf(text) ?? [])
  const files = all.flatMap(({ type, uri, ...about }) =>
    type === "file" ? [{ ...about, type, url: uri }] : [],
  )
  return {
    ...rest,
    ...(texts.length + files.length < all.length && { content }),
    ...(isObject(error) && { cause: error }),
    status: status === "streaming" ? "pending" : status,
    ...(texts.length > 0 && { output: texts.join("\n") }),
    ...(files.length > 0 && { attachments: files }),
    ...(structured !== undefined && { metadata: structured }),
    ...(error !== undefined && { error: stringOf(error) ?? stringOf(objectOf(error)["message"]) }),
  }
}
