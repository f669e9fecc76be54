/** `ctxbridge repair`: a copy of a session that fails with every prompt, without what the API refuses. */
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { agentTitle, UNMARKED } from "../../agents/agents.ts"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { dirname, join } from "../../base/path.ts"
import { bytes, count } from "../../base/text.ts"
import {
  isBlank,
  isObject,
  type JsonObject,
  jsonText,
  objectOf,
  parseLine,
  stringOf,
} from "../../record/json.ts"
import { wholeRecordsIn } from "../../record/whole-records.ts"
import { sameButForFiller } from "../../vault/source-file.ts"
import { renderTable } from "../block.ts"
import { type Command, flag } from "../command.ts"
import { type PutFile, type Resume, sessionLines, writeSessionCopy } from "../pages/put-back-transcript.ts"
import { resurrect, sessionsInVault } from "../pages/resurrect-sessions.ts"
import { repositoryOf, resumeLine } from "../resume-line.ts"
import { screenOf, wrapped } from "../screen.ts"
import { idsMeant } from "../sessions-wanted.ts"
import { safe } from "../style.ts"

export default {
  meta: { name: "repair", description: "Copy a session that fails with every prompt, without what is wrong" },
  args: {
    session: {
      type: "positional",
      required: true,
      names: "session",
      description: "A session's id, or the handle of one of its turns",
    },
    "dry-run": flag("Show what is wrong; write nothing"),
  },
  run({ args, env, out }) {
    const dryRun = args["dry-run"] === true
    const [session] = sessionsInVault(env.dataHome, idsMeant(env.dataHome, [String(args["session"])])) as [
      string,
    ]
    const places = { ...env, to: undefined, all: false, force: false, dryRun: true }
    const [found] = resurrect([session], { ...places, folderOf: repositoryOf(env.dataHome) })
    const file = found?.files.find(({ agent, isBeside }) => agent === undefined && !isBeside)
    if (found !== undefined && found.program !== UNMARKED)
      throw usageError(`${agentTitle(found.program)}'s sessions cannot be repaired`, "only Claude Code's can")
    if (found === undefined || file === undefined || found.unstartable !== undefined)
      throw new CtxError(
        "not-repaired",
        `session ${session} has no transcript that Claude Code could resume`,
        {
          hint: `ctxbridge show ${session} shows what there is of it`,
        },
      )
    const lines = readLines(sessionLines(file, env.dataHome))
    const { faults, bad, refused } = faultsIn(lines, thoughtsArchived(file, env.dataHome))
    const { columns, style } = screenOf(out)
    const answer = refused === undefined ? [] : wrapped(safe(`The API's last answer: ${refused}`), columns)
    if (faults.length === 0) {
      out.print([
        `Nothing is wrong with the transcript of session ${session}; nothing was written`,
        ...answer,
      ])
      out.json({ session, faults, refused: refused ?? null, dryRun, copy: null })
      return EXIT.ok
    }
    const id = randomUUID()
    const path = join(dirname(file.path), `${id}.jsonl`)
    const resume = found.resume[0] ?? resumeIn(lines)
    const command = resumeLine({ ...found, session: id }, resume)
    if (!dryRun) writeSessionCopy(session, linesWithout(lines, bad), path)
    const head = [
      { title: "line", align: "right" },
      { title: "what is wrong", flexible: true },
    ] as const
    const rows = faults.map(({ line, what }) => [String(line), what])
    out.print([
      style.bold(`${count(faults.length, "fault")} in session ${session}, which stays as it is`),
      ...renderTable(head, rows, columns, style),
      ...answer,
      "",
    ])
    if (dryRun) out.print("Without --dry-run, a copy is written that leaves out exactly these")
    else out.print([`A copy that leaves out exactly these: ${safe(path)}`, safe(command)])
    if (resume.gone)
      out.print("Its folder is gone: create it first, or after `ctxbridge import`, resume --here")
    const copy = dryRun ? null : { session: id, path, folder: resume.folder ?? null, command }
    out.json({ session, faults, refused: refused ?? null, dryRun, copy })
    return EXIT.ok
  },
} satisfies Command

type FaultKind =
  | "torn-line"
  | "orphan-result"
  | "unanswered-call"
  | "empty-text"
  | "bad-image"
  | "altered-thinking"
  | "lone-thinking"

interface Fault {
  readonly kind: FaultKind
  /** From 1, in the transcript. */
  readonly line: number
  /** Of the record. */
  readonly uuid: string | null
  readonly what: string
}

/** A line of the transcript, or a whole record within one that is torn. */
interface SickLine {
  readonly n: number
  readonly text: string
  readonly record: JsonObject | undefined
}

function readLines(texts: readonly string[]): SickLine[] {
  return texts.flatMap((text, at): SickLine[] => {
    const n = at + 1
    const record = parseLine(text)
    if (isObject(record)) return [{ n, text, record }]
    if (isBlank(text)) return []
    const line = Buffer.from(text)
    const whole = wholeRecordsIn(line).map(({ from, to }) => line.toString("utf8", from, to))
    return [
      { n, text, record: undefined },
      ...whole.map((one) => ({ n, text: one, record: objectOf(parseLine(one)) })),
    ]
  })
}

const uuidIn = ({ record }: SickLine): string | undefined => stringOf(record?.["uuid"])
const messageOfLine = ({ record }: SickLine): JsonObject => objectOf(record?.["message"])
const isFrom = ({ record }: SickLine, role: "assistant" | "user"): boolean => record?.["type"] === role
/** What Claude Code says itself in the model's place, and does not send. */
const isOwnWord = ({ record }: SickLine): boolean =>
  record?.["isApiErrorMessage"] !== undefined || objectOf(record?.["message"])["model"] === "<synthetic>"

function blocksIn(line: SickLine): readonly JsonObject[] {
  const { content } = messageOfLine(line)
  return Array.isArray(content) ? content.filter(isObject) : []
}

/** The model's message that a line is a part of. */
const messageId = (line: SickLine): string =>
  stringOf(messageOfLine(line)["id"]) ?? uuidIn(line) ?? String(line.n)

/**
 * The record that each one follows: its parent, or where a torn line has taken that along, the one before it.
 *
 * @returns by uuid; undefined for the first one
 */
function parentsIn(lines: readonly SickLine[]): Map<string, string | undefined> {
  const known = new Set(lines.map(uuidIn))
  const parents = new Map<string, string | undefined>()
  let before: string | undefined
  let isTorn = false
  for (const line of lines) {
    isTorn ||= line.record === undefined
    const uuid = uuidIn(line)
    if (uuid === undefined) continue
    const parent = stringOf(line.record?.["parentUuid"])
    parents.set(uuid, parent === undefined || known.has(parent) || !isTorn ? parent : before)
    if (line.record?.["isSidechain"] !== true) before = uuid
  }
  return parents
}

/** What Claude Code sends of a session: the last record and all before it, with calls made together and their results. */
function sentLines(lines: readonly SickLine[]): SickLine[] {
  const parents = parentsIn(lines)
  const talk = lines.filter(
    (line) => line.record?.["isSidechain"] !== true && (isFrom(line, "user") || isFrom(line, "assistant")),
  )
  const chain = new Set<string>()
  const last = talk.at(-1)
  for (let uuid = last && uuidIn(last); uuid !== undefined && !chain.has(uuid); uuid = parents.get(uuid))
    chain.add(uuid)
  const onChain = (line: SickLine): boolean => chain.has(uuidIn(line) ?? "")
  const idsOn = (type: string, key: string): Set<string> =>
    new Set(talk.filter(onChain).flatMap((line) => idsOf(line, type, key)))
  const [made, answered] = [idsOn("tool_use", "id"), idsOn("tool_result", "tool_use_id")]
  const messages = new Set(talk.filter((line) => onChain(line) && isFrom(line, "assistant")).map(messageId))
  const also = new Set<string>()
  // Older versions write a session anew when they resume it: then the same calls are there twice.
  const isBeside = (line: SickLine): boolean => {
    const calls = messages.has(messageId(line))
      ? idsOf(line, "tool_use", "id").filter((id) => !made.has(id))
      : []
    for (const id of calls) also.add(id)
    const results = idsOf(line, "tool_result", "tool_use_id")
    return calls.length > 0 || results.some((id) => (made.has(id) || also.has(id)) && !answered.has(id))
  }
  return talk.filter((line) => onChain(line) || isBeside(line))
}

const idsOf = (line: SickLine, type: string, key: string): string[] =>
  blocksIn(line).flatMap((block) => (block["type"] === type ? [String(block[key])] : []))

interface Found {
  readonly faults: readonly Fault[]
  /** Blocks, and messages that are but a text, by identity. */
  readonly bad: ReadonlySet<object>
  /** The API's last answer, if it was an error. */
  readonly refused: string | undefined
}

type Tell = (kind: FaultKind, line: SickLine, block: object, what: string) => void

interface Sick {
  readonly sent: readonly SickLine[]
  readonly refused: string | undefined
  /** By uuid, what the vault has of thoughts that may have been altered. */
  readonly archived: ReadonlyMap<string, string>
  readonly tell: Tell
  readonly isBad: (block: object) => boolean
}

/** In this order: what an earlier one finds is not looked at again. */
const CHECKS: readonly ((sick: Sick) => void)[] = [
  callsAndResults,
  emptyTexts,
  badImages,
  alteredThoughts,
  loneThoughts,
]

function faultsIn(lines: readonly SickLine[], archived: ReadonlyMap<string, string>): Found {
  const sent = sentLines(lines)
  const torn = lines.filter(({ record }) => record === undefined)
  const faults = torn.map(
    ({ n, text }): Fault => ({
      kind: "torn-line",
      line: n,
      uuid: null,
      what: `a torn line (${bytes(text.length)})`,
    }),
  )
  const bad = new Set<object>()
  const tell: Tell = (kind, line, block, what) => {
    bad.add(block)
    faults.push({ kind, line: line.n, uuid: uuidIn(line) ?? null, what })
  }
  const said = sent.findLast((line) => isFrom(line, "assistant"))
  const refused =
    said?.record?.["isApiErrorMessage"] === true ? stringOf(blocksIn(said)[0]?.["text"]) : undefined
  for (const check of CHECKS) check({ sent, refused, archived, tell, isBad: (block) => bad.has(block) })
  return { faults: faults.toSorted((a, b) => a.line - b.line), bad, refused }
}

/** The API wants a call's result right behind the message with the call, once. */
function callsAndResults({ sent, tell }: Sick): void {
  const calls = new Map<string, { line: SickLine; block: JsonObject; isAnswered: boolean }>()
  let message: string | undefined
  for (const line of sent) {
    if (isFrom(line, "assistant") && !isOwnWord(line)) message = messageId(line)
    for (const block of blocksIn(line)) {
      if (block["type"] === "tool_use") calls.set(String(block["id"]), { line, block, isAnswered: false })
      if (block["type"] !== "tool_result") continue
      const call = calls.get(String(block["tool_use_id"]))
      const why =
        call === undefined
          ? "of a call that is not there"
          : call.isAnswered
            ? "of a call that has one"
            : messageId(call.line) !== message && "that comes after the model's next message"
      if (why) tell("orphan-result", line, block, `a result ${why} (${String(block["tool_use_id"])})`)
      else call!.isAnswered = true
    }
  }
  for (const [id, { line, block, isAnswered }] of calls) {
    // The last ones may be at work, or were interrupted: Claude Code says so to the model itself.
    const isLast = messageId(line) === message && !sent.slice(sent.indexOf(line)).some((one) => isPrompt(one))
    if (!isAnswered && !isLast)
      tell(
        "unanswered-call",
        line,
        block,
        `a call of ${stringOf(block["name"]) ?? "a tool"} without a result (${id})`,
      )
  }
}

const isPrompt = (line: SickLine): boolean =>
  isFrom(line, "user") && idsOf(line, "tool_result", "tool_use_id").length === 0

/** The model's own texts may be blank: Claude Code leaves out those. */
function emptyTexts({ sent, tell }: Sick): void {
  for (const line of sent) {
    const isEmpty = isFrom(line, "user") ? isBlank : (text: string): boolean => text === ""
    const message = messageOfLine(line)
    if (typeof message["content"] === "string" && isEmpty(message["content"]))
      tell("empty-text", line, message, "a message without text")
    for (const { block, within } of withInner(line)) {
      const text = block["type"] === "text" ? block["text"] : undefined
      if (typeof text !== "string" || !isEmpty(text)) continue
      tell("empty-text", line, block, within ? "an empty text in a result" : "an empty text")
    }
  }
}

/** A line's blocks, and those within its results. */
const withInner = (line: SickLine) =>
  blocksIn(line).flatMap((block) => {
    const inner = block["type"] === "tool_result" && Array.isArray(block["content"]) ? block["content"] : []
    return [
      { block, within: false },
      ...inner.filter(isObject).map((one) => ({ block: one as JsonObject, within: true })),
    ]
  })

function badImages({ sent, refused, tell, isBad }: Sick): void {
  const images = sent.flatMap((line) =>
    withInner(line).flatMap(({ block }) => (block["type"] === "image" ? [{ line, block }] : [])),
  )
  const whys = images.map(({ block }) => imageFault(objectOf(block["source"]), images.length))
  const isRefused = /\bimage/i.test(refused ?? "") && !whys.some(Boolean)
  for (const [n, { line, block }] of images.entries()) {
    const why = whys[n] ?? (isRefused ? "one of those of which the API refuses one" : undefined)
    if (why !== undefined && !isBad(block)) tell("bad-image", line, block, `an image: ${why}`)
  }
}

/** Letters in base64. */
const LARGEST_DATA = 5 << 20
/** Pixels of a side, and those if there are many images. */
const WIDEST = 8000
const MANY = { images: 20, widest: 2000 }

const IMAGES = [
  { type: "image/png", starts: "\x89PNG\r\n", ends: "IEND" },
  { type: "image/jpeg", starts: "\xff\xd8\xff", ends: "\xff\xd9" },
  { type: "image/gif", starts: "GIF8", ends: ";" },
  { type: "image/webp", starts: "RIFF", ends: "" },
] as const

function imageFault(source: JsonObject, images: number): string | undefined {
  const { type, media_type: said, data } = source
  if (type !== "base64") return undefined
  if (typeof data !== "string" || !/^[\w+/]+={0,2}$/.test(data)) return "it cannot be read"
  if (data.length > LARGEST_DATA) return `too large (${bytes(data.length)} of at most ${bytes(LARGEST_DATA)})`
  const file = Buffer.from(data, "base64")
  const image = IMAGES.find(({ starts }) => file.toString("latin1", 0, starts.length) === starts)
  if (image === undefined || !file.includes(image.ends, 0, "latin1")) return "it cannot be read"
  if (image.type !== said) return `it is ${image.type}, not ${String(said)}`
  const [width, height] = pixelsOf(file, image.type)
  const widest = images > MANY.images ? MANY.widest : WIDEST
  return Math.max(width, height) > widest ? `too large (${width} × ${height} pixels)` : undefined
}

/** Of kinds that say it where it is easily found; else nothing. */
function pixelsOf(file: Buffer, type: string): readonly [number, number] {
  if (type === "image/png" && file.length >= 24) return [file.readUInt32BE(16), file.readUInt32BE(20)]
  if (type === "image/gif" && file.length >= 10) return [file.readUInt16LE(6), file.readUInt16LE(8)]
  if (type !== "image/jpeg") return [0, 0]
  for (let at = 2; at + 9 < file.length && file[at] === 0xff; at += 2 + file.readUInt16BE(at + 2)) {
    const mark = file[at + 1]!
    const isFrame = mark >= 0xc0 && mark <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(mark)
    if (isFrame) return [file.readUInt16BE(at + 7), file.readUInt16BE(at + 5)]
  }
  return [0, 0]
}

const isThought = ({ type }: JsonObject): boolean => type === "thinking" || type === "redacted_thinking"

/** Nobody but the API can check a signature: what is known is what was altered, or that the API has said so. */
function alteredThoughts({ sent, refused, archived, tell }: Sick): void {
  const thoughts = sent.flatMap((line) =>
    blocksIn(line)
      .filter(isThought)
      .map((block) => ({ line, block })),
  )
  const whys = thoughts.map(({ line, block }) => thoughtFault(block, archived.get(uuidIn(line) ?? "")))
  const isRefused = /\bthinking\b/i.test(refused ?? "") && !whys.some(Boolean)
  for (const [n, { line, block }] of thoughts.entries()) {
    const why = whys[n] ?? (isRefused ? "one of those of which the API refuses one" : undefined)
    if (why !== undefined) tell("altered-thinking", line, block, `a thought: ${why}`)
  }
}

function thoughtFault(block: JsonObject, archived: string | undefined): string | undefined {
  const { type, signature, thinking } = block
  if (type !== "thinking") return undefined
  if (typeof signature !== "string" || signature === "") return "it has no signature"
  if (!/^[\w+/-]+={0,2}$/.test(signature)) return "its signature cannot be read"
  const isAltered =
    archived !== undefined &&
    sameButForFiller(Buffer.from(archived), Buffer.from(signed(thinking, signature))) !== undefined
  return isAltered ? "it is not what was archived" : undefined
}

const signed = (thinking: unknown, signature: unknown): string => `${String(thinking)}\n${String(signature)}`

/** What the vault has of a session's thoughts, if its file is not what was archived. */
function thoughtsArchived(file: PutFile, dataHome: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  if (file.state !== "differs") return found
  for (const line of readLines(sessionLines({ ...file, state: "written" }, dataHome))) {
    const [block] = blocksIn(line).filter(({ type }) => type === "thinking")
    if (block !== undefined) found.set(uuidIn(line) ?? "", signed(block["thinking"], block["signature"]))
  }
  return found
}

/** The API takes no message that is but thoughts. */
function loneThoughts({ sent, tell, isBad }: Sick): void {
  for (const [, lines] of Map.groupBy(
    sent.filter((line) => isFrom(line, "assistant")),
    messageId,
  )) {
    const all = lines.flatMap((line) => blocksIn(line).map((block) => ({ line, block })))
    const rest = all.filter(({ block }) => !isBad(block))
    if (rest.length === all.length || !rest.every(({ block }) => isThought(block))) continue
    for (const { line, block } of rest)
      tell("lone-thinking", line, block, "a thought, with nothing left of its message")
  }
}

/** The lines of the copy: those in which nothing is bad as they are, and nothing of what is. */
function linesWithout(lines: readonly SickLine[], bad: ReadonlySet<object>): string[] {
  const parents = parentsIn(lines)
  const kept = lines.flatMap((line) => {
    if (line.record === undefined) return []
    const record = cured(line, bad)
    return record === undefined ? [] : [{ line, record }]
  })
  const there = new Set(kept.map(({ line }) => uuidIn(line)))
  const lost = new Set(lines.map(uuidIn).filter((uuid) => !there.has(uuid)))
  return kept.map(({ line, record }) => {
    let parent = parents.get(uuidIn(line) ?? "")
    while (parent !== undefined && lost.has(parent)) parent = parents.get(parent)
    const isSame = record === line.record && (parent ?? null) === (record["parentUuid"] ?? null)
    return isSame ? line.text : jsonText({ ...record, parentUuid: parent ?? null })
  })
}

/** @returns undefined if nothing is left of what it says */
function cured({ record }: SickLine, bad: ReadonlySet<object>): JsonObject | undefined {
  const message = objectOf(record?.["message"])
  if (bad.has(message)) return undefined
  const { content } = message
  if (!Array.isArray(content)) return record
  const isGood = (block: unknown): boolean => !bad.has(block as object)
  const rest = content.filter(isGood).map((block: unknown) => {
    const inner = objectOf(block)["content"]
    const isSick = Array.isArray(inner) && !inner.every(isGood)
    return isSick ? { ...objectOf(block), content: inner.filter(isGood) } : block
  })
  if (rest.length === 0) return undefined
  const isSame = rest.length === content.length && rest.every((block, n) => block === content[n])
  return isSame ? record : { ...record, message: { ...message, content: rest } }
}

/** Where a session was last, if its own file is none that is archived. */
function resumeIn(lines: readonly SickLine[]): Resume {
  const last = lines.findLast(({ record }) => stringOf(record?.["cwd"]) !== undefined)
  const folder = stringOf(last?.record?.["cwd"])
  return { folder, gone: folder !== undefined && !existsSync(folder), configDir: undefined }
}
