/**
 * Appends lines that were generated rather than read: an import from another tool's archive has no transcript on disk.
 * The result is a copy like any other, so views, export and verify need no special case.
 */
import { statSync } from "node:fs"
import { codeOf, throwBusy } from "../base/errors.ts"
import { type FilteredLines, filterLines, type SecretSettings } from "../secrets/filter.ts"
import {
  appendFrame,
  behind,
  type LockedCopy,
  segmentContent,
  segmentsBackwards,
  withLockedCopy,
} from "./copy-file.ts"
import { TAIL_WINDOW, xxh64 } from "./frame.ts"
import { ValuesInMemory } from "./known-values.ts"
import { archivedIn, stretchesFrom } from "./reader.ts"

/** UTF-16 units of lines in one frame, give or take a line. */
const CHUNK = 256 << 10
/** ms to wait for another process that appends to the same copy. */
const PATIENCE = 5000

interface MadeRequest {
  readonly copy: string
  /** Goes into the copy's header as its origin. */
  readonly path: string
  /** ms since the epoch, for the trailers. */
  readonly now: number
  readonly dryRun: boolean
  /** ms of performance.now() at which nothing more is begun; undefined: somebody has the time. */
  readonly deadline?: number | undefined
  readonly secrets: SecretSettings
  /** Fills what must not be kept, with the same number of bytes. */
  readonly edit: (content: Uint8Array) => Uint8Array
  /** What was recognised as a secret in lines that were appended just before. */
  readonly values?: ValuesInMemory
  /** Lines that the copy has already, as they were before anything was filled in them. */
  readonly earlier?: () => Iterable<string>
  /** Returns the lines, each with its newline, to append after those the copy holds. */
  readonly choose: (held: Iterable<Uint8Array>) => readonly string[]
  /** Called before the first frame is written, if there is one. */
  readonly onBegin: () => void
}

export interface Made {
  readonly before: number
  readonly taken: number
  /** There was no time for it, or another process was at it for all of that. */
  readonly isLate?: true
}

/** @throws CtxError `busy` if another process holds the copy, unless there is a deadline */
export function appendMade(request: MadeRequest): Made {
  try {
    return append(request)
  } catch (error) {
    if (request.deadline === undefined || codeOf(error) !== "busy") throw error
    return { before: archivedIn(request.copy), taken: 0, isLate: true }
  }
}

function append(request: MadeRequest): Made {
  const { copy, path, now, deadline = Number.POSITIVE_INFINITY } = request
  const isNew = statSync(copy, { throwIfNoEntry: false }) === undefined
  if (isNew || request.dryRun) {
    const lines = request.choose(inTime(contents(copy), deadline))
    if (request.dryRun || lines.length === 0) return { before: archivedIn(copy), taken: sizeOf(lines) }
  }
  const work = (held: LockedCopy): Made => {
    // Choose again under the lock, since another import may have come first.
    const lines = request.choose(inTime(contents(copy), deadline))
    const before = held.tail.last?.to ?? 0
    if (lines.length === 0) return { before, taken: 0 }
    request.onBegin()
    return { before, taken: writeLines(held, lines, request) }
  }
  const patience = Math.min(performance.now() + PATIENCE, deadline)
  return withLockedCopy(copy, { path, created: now }, patience, work, () =>
    throwBusy("another process is importing the same session", "try again"),
  )
}

/** @throws CtxError `busy` where the next one would come too late */
function* inTime<T>(all: Iterable<T>, deadline: number): Generator<T> {
  for (const one of all) {
    if (performance.now() > deadline) throwBusy("there is no time to read the session", "try again")
    yield one
  }
}

function* contents(copy: string): Generator<Uint8Array> {
  for (const { content } of stretchesFrom(copy, 0)) yield content
}

const sizeOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)

function writeLines(
  held: LockedCopy,
  lines: readonly string[],
  {
    path,
    now,
    deadline = Number.POSITIVE_INFINITY,
    edit,
    secrets,
    earlier,
    values = new ValuesInMemory(),
  }: MadeRequest,
): number {
  let end = held.tail.end
  const start = held.tail.last?.to ?? 0
  let from = start
  let tail = endOf(held)
  let hidden = held.tail.last?.hidden ?? 0
  const filter = (
    original: Buffer,
    hiddenBefore: number,
  ): { content: Uint8Array; filtered: FilteredLines } => {
    const filtered = filterLines(original, hiddenBefore, secrets)
    return { content: values.fill({ path, id: "", from: 0, original, filtered, edit }), filtered }
  }
  if (earlier !== undefined) for (const made of chunks(inTime(earlier(), deadline))) filter(made, 0)
  // What is recognised anywhere in them is filled everywhere.
  const all = [...chunks(lines)]
  if (all.length > 1) for (const made of all) filter(made, 0)
  for (const made of all) {
    const { content, filtered } = filter(made, hidden)
    hidden = filtered.hidden
    const window = Buffer.concat([tail, content.subarray(-TAIL_WINDOW)]).subarray(-TAIL_WINDOW)
    const segment = appendFrame(held.fd, end, content, {
      from,
      to: from + content.length,
      inode: 0n,
      tailHash: xxh64(window),
      time: now,
      rules: filtered.rules,
      hidden,
    })
    end = behind(segment)
    from = segment.to
    tail = window
  }
  return from - start
}

function* chunks(lines: Iterable<string>): Generator<Buffer> {
  let text: string[] = []
  let length = 0
  for (const line of lines) {
    text.push(line)
    length += line.length
    if (length < CHUNK) continue
    yield Buffer.from(text.join(""))
    text = []
    length = 0
  }
  if (text.length > 0) yield Buffer.from(text.join(""))
}

/** The last bytes that the copy holds, as many as the cursor's hash covers. */
function endOf({ fd, tail }: LockedCopy): Buffer {
  let end = Buffer.alloc(0)
  for (const segment of segmentsBackwards(fd, tail)) {
    if (end.length >= TAIL_WINDOW) break
    end = Buffer.concat([segmentContent(fd, segment), end])
  }
  return end.subarray(-TAIL_WINDOW)
}
