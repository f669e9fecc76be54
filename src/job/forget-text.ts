/** Finds every place in the vault, line by line, of a text that should be forgotten. */
import { shellCommand, toolTarget } from "../agents/tool-kinds.ts"
import { codeOf, messageOf, usageError } from "../base/errors.ts"
import { statsOf } from "../base/files.ts"
import { parseJson } from "../base/json-files.ts"
import { isNotesSession } from "../base/session-id.ts"
import { type ByteSpan, type LineFinder, skeleton, spanFinder } from "../record/find-text.ts"
import { isObject, objectOf, stringOf } from "../record/json.ts"
import { linesIn } from "../record/lines-with.ts"
import { CLOSE, HANDLE_PREFIX, MARK } from "../record/our-marks.ts"
import { vaultFile } from "../vault/layout.ts"
import { CopyReader } from "../vault/reader.ts"
import { fillSpans, lineHash, type Tombstone } from "../vault/tombstone.ts"
import { emptyTombstone, ownerOf, readTombstone } from "../vault/tombstones.ts"
import type { Database } from "../views/database.ts"
import { rememberCalls, sessionsThatAsked } from "../views/queries/calls.ts"
import { OBSERVATION_PREFIX, observationHandles } from "../views/queries/summaries.ts"
import { forkedTurns } from "../views/queries/transcripts.ts"
import { handlesOf } from "../views/queries/turns.ts"
import { toldOf } from "../views/session-traces.ts"
import { isOwnTool } from "../views/tool-rows.ts"
import { type Source, sources } from "../views/view-sources.ts"

export interface TextFound {
  readonly copies: readonly { readonly copy: string; readonly session: string; readonly places: number }[]
  readonly places: number
  readonly lines: number
  /** How many of the transcripts still exist; they are Claude Code's, and stay as they are. */
  readonly onDisk: number
  /** Copies that could not be read. */
  readonly failed: readonly { readonly copy: string; readonly error: string }[]
  /** Including what they covered before. */
  readonly tombstones: readonly Tombstone[]
}

interface TextOptions {
  /** Only search these copies. */
  readonly wanted?: (source: Source) => boolean
  /** Tombstones that are about to be written, by session: what is found is added to them. */
  readonly known?: ReadonlyMap<string, Tombstone>
  /** ms since the epoch. */
  readonly now: number
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * @param finderFor a finder for each copy, which gets its lines in order
 * @throws CtxError exit 64 when the text is part of something Claude Code needs to read its own records
 */
export function findText(
  dataHome: string,
  finderFor: (source: Source) => LineFinder,
  options: TextOptions,
): TextFound {
  const wanted = sources(dataHome).filter((source) => options.wanted?.(source) ?? true)
  const total = wanted.reduce((sum, { bytes }) => sum + bytes, 0)
  const tombstones = new Map<string, Collecting>()
  const copies: { copy: string; session: string; places: number }[] = []
  const failed: { copy: string; error: string }[] = []
  const transcripts = new Set<string>()
  let done = 0
  let lines = 0
  for (const source of wanted) {
    let places = 0
    try {
      for (const found of foundIn(dataHome, source, finderFor(source))) {
        places += found.places
        lines++
        collect(dataHome, tombstones, source, found, options)
      }
    } catch (error) {
      // Another `forget` may have removed it since.
      if (codeOf(error) !== "vault-missing") failed.push({ copy: source.copy, error: messageOf(error) })
    }
    if (places > 0) {
      copies.push({ copy: source.copy, session: source.session, places })
      transcripts.add(source.path)
    }
    done += source.bytes
    options.onProgress?.(done, total)
  }
  const all = [...tombstones.values()].map(({ before, lines }) => ({ ...before, lines }))
  if (all.length > 0 && [...tombstones.values()].some(({ broken }) => broken)) throw tooCommon()
  const places = copies.reduce((sum, one) => sum + one.places, 0)
  const onDisk = [...transcripts].filter((path) => statsOf(path) !== undefined).length
  return { copies, places, lines, onDisk, failed, tombstones: all }
}

const tooCommon = () =>
  usageError(
    "the text occurs in names that Claude Code itself has given: kinds of records, their ids, their times",
    "type more of it; ctxbridge forget <session> removes a whole session",
  )

interface Collecting {
  readonly before: Tombstone
  readonly lines: Record<string, readonly ByteSpan[]>
  broken: boolean
}

function collect(
  dataHome: string,
  tombstones: Map<string, Collecting>,
  { session, path }: Source,
  { pieces, broken }: FoundLine,
  { now, known }: TextOptions,
): void {
  const owner = ownerOf(session, path)
  let one = tombstones.get(owner)
  if (one === undefined) {
    const before = known?.get(owner) ?? readTombstone(dataHome, owner) ?? emptyTombstone(owner, now)
    one = { before: { ...before, time: now }, lines: { ...before.lines }, broken: false }
    tombstones.set(owner, one)
  }
  one.broken ||= broken
  for (const { bytes, spans } of pieces) one.lines[lineHash(one.before.key, bytes)] = spans
}

interface FoundLine {
  readonly places: number
  /** The line and, if it spans frames, its parts in each frame, because capture may see any of them again. */
  readonly pieces: readonly { readonly bytes: Uint8Array; readonly spans: readonly ByteSpan[] }[]
  /** Whether Claude Code could not read the line without the text. */
  readonly broken: boolean
}

function* foundIn(dataHome: string, { copy }: Source, finder: LineFinder): Generator<FoundLine> {
  const reader = new CopyReader(vaultFile(dataHome, copy))
  try {
    let open: Uint8Array[] = []
    for (const frame of reader.pieces()) {
      for (const [start, end] of linesIn(frame)) {
        open.push(frame.subarray(start, end))
        // It goes on in the next frame.
        if (end === frame.length) break
        yield* foundLine(open, finder)
        open = []
      }
    }
    yield* foundLine(open, finder)
  } finally {
    reader.close()
  }
}

function* foundLine(parts: readonly Uint8Array[], finder: LineFinder): Generator<FoundLine> {
  const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  const spans = finder(line)
  if (spans.length === 0) return
  const after = new Uint8Array(line)
  fillSpans(after, spans)
  let from = 0
  const pieces = parts.map((bytes) => {
    const within = clipped(spans, from, from + bytes.length)
    from += bytes.length
    return { bytes, spans: within }
  })
  yield {
    places: spans.length,
    pieces: [{ bytes: line, spans }, ...pieces.filter((piece) => piece.spans.length > 0)],
    broken: skeleton(line) !== skeleton(after),
  }
}

const clipped = (spans: readonly ByteSpan[], from: number, to: number): ByteSpan[] =>
  spans
    .filter(([start, end]) => start < to && end > from)
    .map(([start, end]) => [Math.max(start, from) - from, Math.min(end, to) - from])

/* What the model kept with `remember`, as far as it is to be taken back: single notes, and those of forgotten sessions. */

/** A line of a note. */
interface NoteLine {
  /** The session that holds it. */
  readonly session: string
  readonly text: string
  /** ISO 8601. */
  readonly time: string | undefined
  /** The session in which it was kept, if it says so. */
  readonly keptIn: string | undefined
}

/**
 * @param isMeant whether a note is to be taken back
 * @param known tombstones that are about to be written
 */
export const findNotes = (
  dataHome: string,
  isMeant: (note: NoteLine) => boolean,
  now: number,
  known: readonly Tombstone[] = [],
): TextFound =>
  findText(dataHome, (source) => noteFinder(source, isMeant), {
    now,
    known: new Map(known.map((one) => [one.session, one])),
    wanted: ({ session }) =>
      isNotesSession(session) && known.every((one) => one.session !== session || !one.whole),
  })

function noteFinder({ session }: Source, isMeant: (note: NoteLine) => boolean): LineFinder {
  return (bytes) => {
    const line = objectOf(parseJson(Buffer.from(bytes).toString("utf8")))
    const text = stringOf(line["text"])
    if (line["type"] !== "ctxbridge-note" || text === undefined) return []
    const [time, keptIn] = [stringOf(line["timestamp"]), stringOf(line["keptIn"])]
    if (!isMeant({ session, text, time, keptIn })) return []
    return spanFinder((one) => (one === text ? [[0, one.length]] : []))(bytes)
  }
}

/**
 * Whether a note was kept in one of these sessions and in no other. The server knows the session that it was started
 * in; after `/clear`, and with older versions of Claude Code, only the transcript of the call tells.
 *
 * Must be made while the views still hold the sessions.
 */
export function keptInOneOf(db: Database, sessions: readonly string[]): (note: NoteLine) => boolean {
  const owners = new Map<string, Set<string>>()
  for (const { session, target } of rememberCalls(db)) {
    const known = owners.get(target) ?? new Set()
    owners.set(target, known.add(session))
  }
  const isOne = (id: string): boolean => sessions.some((one) => id === one || id.startsWith(`${one}/`))
  return ({ text, keptIn }) => {
    const callers = owners.get(toolTarget(REMEMBER, { text }))
    if (callers !== undefined) return [...callers].every(isOne)
    return keptIn !== undefined && isOne(keptIn)
  }
}

const REMEMBER = "mcp__ctxbridge__remember"

/*
 * Finds what ctxbridge itself has carried from sessions that are to be forgotten into the transcripts of others:
 * restores, pointers at startup, answers of our tools and output of our commands. All of these name the turns that they
 * quote, or the session. What a human or the model said about it later is theirs, and stays.
 */

/** What tells that a text is about sessions that are to be forgotten. */
export interface Names {
  /** Their ids, and the beginnings by which lists show them. */
  readonly ids: ReadonlySet<string>
  /** Ids that do not look like those of Claude Code: of sessions from other tools. */
  readonly otherIds: readonly string[]
  /** The handles of their turns, and of what a model has observed in them. */
  readonly handles: ReadonlySet<string>
  /** Those of turns that a fork has as well, by fork. */
  readonly shared: ReadonlyMap<string, ReadonlySet<string>>
  /** Sessions that may have been told about them. */
  readonly told: ReadonlySet<string>
}

/** Letters of an id that are enough to name its session in a list. */
const SHORT_ID = 8

/** Must be called while the views still hold the sessions. */
export function namesOf(db: Database, sessions: readonly string[]): Names {
  const shared = new Map<string, Set<string>>()
  for (const { child, handle } of forkedTurns(db, sessions)) {
    const known = shared.get(child) ?? new Set()
    shared.set(child, known.add(handle))
  }
  return {
    ids: new Set(sessions.flatMap((id) => (id.includes("/") ? [] : [id, id.slice(0, SHORT_ID)]))),
    otherIds: sessions.filter((id) => !matches(id, ID, (found) => found === id)),
    handles: new Set([...handlesOf(db, sessions), ...observationHandles(db, sessions)]),
    shared,
    told: new Set([...toldOf(db, new Set(sessions)), ...sessionsThatAsked(db)]),
  }
}

/** A session that was told about sessions that are to be forgotten. */
export interface ToldSession {
  readonly session: string
  /** Places in its copies that are overwritten. */
  readonly places: number
  /** Where Claude Code keeps or kept its transcripts, and how many of these still exist. */
  readonly transcripts: readonly string[]
  readonly onDisk: number
}

interface CarriedFound {
  readonly told: readonly ToldSession[]
  readonly failed: TextFound["failed"]
  readonly tombstones: readonly Tombstone[]
}

/** Looks for what was carried. Looks again only where something was found, or where a copy has changed since. */
export class CarriedSearch {
  readonly #dataHome: string
  readonly #names: Names
  /** Copies that leave the vault as a whole. */
  readonly #leaving: ReadonlySet<string>
  /** Sessions that were there from the beginning: only later ones may be told besides `names.told`. */
  readonly #known = new Set<string>()
  #isFirst = true
  readonly #seen = new Map<string, number>()

  constructor(dataHome: string, names: Names, leaving: ReadonlySet<string>) {
    this.#dataHome = dataHome
    this.#names = names
    this.#leaving = leaving
  }

  /** @param tombstones that are about to be written: what is found is added to them */
  find(now: number, tombstones: readonly Tombstone[] = []): CarriedFound {
    const paths = new Map<string, Set<string>>()
    const found = findText(this.#dataHome, (source) => carriedFinder(this.#names, source), {
      now,
      known: new Map(tombstones.map((one) => [one.session, one])),
      wanted: (source) => {
        const { session, path } = source
        const isWanted = this.#isWanted(source)
        if (isWanted) paths.set(session, (paths.get(session) ?? new Set()).add(path))
        return isWanted
      },
    })
    this.#isFirst = false
    const told = new Map<string, number>()
    for (const { copy, session, places } of found.copies) {
      told.set(session, (told.get(session) ?? 0) + places)
      this.#seen.delete(copy)
    }
    return {
      told: [...told].map(([session, places]) => {
        const transcripts = [...paths.get(session)!]
        const onDisk = transcripts.filter((path) => statsOf(path) !== undefined).length
        return { session, places, transcripts, onDisk }
      }),
      failed: found.failed,
      tombstones: found.tombstones,
    }
  }

  #isWanted({ session, copy, bytes }: Source): boolean {
    if (this.#isFirst) this.#known.add(session)
    if (this.#leaving.has(copy) || this.#seen.get(copy) === bytes) return false
    if (!this.#names.told.has(session) && this.#known.has(session)) return false
    this.#seen.set(copy, bytes)
    return true
  }
}

/** Finds what was carried into one transcript, whose lines must be given in order. */
export function carriedFinder({ ids, otherIds, handles, shared }: Names, { session }: Source): LineFinder {
  const own = shared.get(session)
  const tells = (text: string): boolean =>
    matches(text, HANDLE, (handle) => handles.has(handle) && own?.has(handle) !== true) ||
    matches(text, ID, (id) => ids.has(id)) ||
    otherIds.some((id) => text.includes(id))
  const calls: Calls = new Map()
  return (line) => {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
    if (!OURS.some((words) => bytes.includes(words)) && ![...calls.keys()].some((id) => bytes.includes(id)))
      return []
    // It may be half a line that begins a frame, or one that Claude Code has never finished.
    const answers = answersIn(parseJson(bytes.toString("utf8")), calls, tells)
    if (answers.size === 0 && !bytes.includes(TAG)) return []
    return spanFinder((text) =>
      answers.has(text)
        ? [[0, text.length]]
        : framesIn(text).filter(([from, to]) => tells(text.slice(from, to))),
    )(line)
  }
}

const TAG = "ctxbridge-restore"
/** One of these is in each line that begins something of ours. */
const OURS = ["ctxbridge", HANDLE_PREFIX, OBSERVATION_PREFIX] as const

const HANDLE = new RegExp(`(?:${HANDLE_PREFIX}|${OBSERVATION_PREFIX})([0-9a-z]+)`, "g")
/** An id, or the beginning of one. */
const ID = /(?<![\w-])([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8})(?![\w-])/g

function matches(text: string, pattern: RegExp, isWanted: (found: string) => boolean): boolean {
  for (const [, found] of text.matchAll(pattern)) if (isWanted(found!)) return true
  return false
}

/** What is inside our frames. Their first words stay, by which restores are known to have arrived. */
function framesIn(text: string): ByteSpan[] {
  const found: ByteSpan[] = []
  for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, at + 1)) {
    const end = text.indexOf(CLOSE, at)
    found.push([at + MARK.length, end < 0 ? text.length : end])
  }
  return found
}

/** Shorter strings in an answer are Claude Code's: kinds and states. So are ids and times. */
const SHORTEST = 20
const CLAUDES = /^(?:[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z|[a-z]+_[0-9A-Za-z]+)$/

/** Calls of our tools and commands, and whether they name the sessions. */
type Calls = Map<string, boolean>

/** The strings of a line that are an answer of ours, if it tells of the sessions. Adds the calls in it to `calls`. */
function answersIn(line: unknown, calls: Calls, tells: (text: string) => boolean): Set<string> {
  if (!isObject(line)) return new Set()
  const attachment = objectOf(line["attachment"])
  if (stringOf(attachment["type"])?.startsWith("hook_") === true)
    return new Set(stringsIn(attachment).filter((text) => !text.includes(MARK) && tells(text)))
  const content = objectOf(line["message"])["content"]
  const found: string[] = []
  let isAsked = false
  for (const block of Array.isArray(content) ? content.filter(isObject) : []) {
    const id = stringOf(block["type"] === "tool_use" ? block["id"] : block["tool_use_id"])
    if (id === undefined) continue
    if (block["type"] === "tool_use") {
      const { input } = block
      if (isOurs(stringOf(block["name"]) ?? "", input)) calls.set(id, tells(JSON.stringify(input ?? "")))
      continue
    }
    const asked = calls.get(id)
    if (asked === undefined) continue
    isAsked ||= asked
    found.push(...stringsIn(block["content"]), ...stringsIn(line["toolUseResult"]))
  }
  return new Set(isAsked || found.some(tells) ? found : [])
}

const isOurs = (tool: string, input: unknown): boolean =>
  isOwnTool(tool) || /\bctxbridge\b/.test(shellCommand(tool, objectOf(input)) ?? "")

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return value.length < SHORTEST || CLAUDES.test(value) ? [] : [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : []
}
