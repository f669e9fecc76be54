/** Finds every place in the vault, line by line, of a text that should be forgotten. */
import { toolTarget } from "../agents/tool-input.ts"
import { linesIn } from "../base/byte-lines.ts"
import { codeOf, messageOf, usageError } from "../base/errors.ts"
import { statsOf } from "../base/files.ts"
import { parseJson } from "../base/json-files.ts"
import { type ByteSpan, type LineFinder, skeleton, spanFinder } from "../record/find-text.ts"
import { objectOf, stringOf } from "../record/json.ts"
import { vaultFile } from "../vault/layout.ts"
import { CopyReader } from "../vault/reader.ts"
import { fillSpans, lineHash, type Tombstone } from "../vault/tombstone.ts"
import { emptyTombstone, ownerOf, readTombstone } from "../vault/tombstones.ts"
import type { Database } from "../views/database.ts"
import { isNotesSession } from "../views/notes-session.ts"
import { rememberCalls } from "../views/queries/calls.ts"
import { type Source, sources } from "../views/view-sources.ts"

export interface TextFound {
  readonly copies: readonly { readonly copy: string; readonly session: string; readonly places: number }[]
  readonly places: number
  readonly lines: number
  /** How many of the transcripts still exist; they are the host's, and stay as they are. */
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
 * @throws CtxError exit 64 when the text is part of something the host needs to read its own records
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
  /** Whether the host could not read the line without the text. */
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
 * in; after `/clear`, and with older hosts, only the transcript of the call tells.
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
