/**
 * Appends lines that were made rather than read: what is imported from another tool's archive has no transcript on
 * disk. The copy is one like all others, so that views, export and verify need know nothing of it.
 */
import { closeSync, statSync } from "node:fs"
import { CtxError } from "../util/errors.ts"
import { filterLines, type SecretSettings } from "../util/secrets.ts"
import {
  appendFrame,
  behind,
  type LockedCopy,
  openLocked,
  segmentContent,
  segmentsBackwards,
} from "./file.ts"
import { TAIL_WINDOW, xxh64 } from "./frame.ts"
import { archivedIn, stretchesFrom } from "./reader.ts"

/** UTF-16 units of lines in one frame, as far as lines allow. */
const CHUNK = 256 << 10
/** ms to wait for another process that appends to the same copy. */
const PATIENCE = 5000

export interface MadeRequest {
  /** Absolute path of the copy. */
  readonly copy: string
  /** What the copy's header says of where it comes from. */
  readonly path: string
  /** ms since the epoch, for the notes. */
  readonly now: number
  readonly dryRun: boolean
  readonly secrets: SecretSettings
  /** What of the lines is not to be kept: the same number of bytes, filled. */
  readonly edit: (content: Uint8Array) => Uint8Array
  /** The lines, each with its newline, that are to follow what the copy holds. */
  readonly choose: (held: Iterable<Uint8Array>) => readonly string[]
  /** Called before the first frame is written, if there is anything to write. */
  readonly onBegin: () => void
}

export interface Made {
  /** Bytes in the copy before, and those that came. */
  readonly before: number
  readonly taken: number
}

/** @throws CtxError `busy` when another process holds the copy */
export function appendMade(request: MadeRequest): Made {
  const { copy, path, now } = request
  const isNew = statSync(copy, { throwIfNoEntry: false }) === undefined
  if (isNew || request.dryRun) {
    const lines = request.choose(contents(copy))
    if (request.dryRun || lines.length === 0) return { before: archivedIn(copy), taken: sizeOf(lines) }
  }
  const held = openLocked(copy, { path, created: now }, performance.now() + PATIENCE)
  if (held === undefined) {
    throw new CtxError("busy", "another process is importing the same session", { hint: "try again" })
  }
  try {
    // Chosen again under the lock: another import may have been first.
    const lines = request.choose(contents(copy))
    const before = held.tail.last?.to ?? 0
    if (lines.length === 0) return { before, taken: 0 }
    request.onBegin()
    return { before, taken: writeLines(held, lines, request) }
  } finally {
    closeSync(held.fd)
  }
}

function* contents(copy: string): Generator<Uint8Array> {
  for (const { content } of stretchesFrom(copy, 0)) yield content
}

const sizeOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)

function writeLines(held: LockedCopy, lines: readonly string[], { now, edit, secrets }: MadeRequest): number {
  let end = held.tail.end
  const start = held.tail.last?.to ?? 0
  let from = start
  let tail = endOf(held)
  let hidden = held.tail.last?.hidden ?? 0
  for (const made of chunks(lines)) {
    const filtered = filterLines(made, hidden, secrets)
    const content = edit(filtered.content)
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

function* chunks(lines: readonly string[]): Generator<Buffer> {
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

/** The last bytes of what the copy holds, as many as the cursor's hash covers. */
function endOf({ fd, tail }: LockedCopy): Buffer {
  let end = Buffer.alloc(0)
  for (const segment of segmentsBackwards(fd, tail)) {
    if (end.length >= TAIL_WINDOW) break
    end = Buffer.concat([segmentContent(fd, segment), end])
  }
  return end.subarray(-TAIL_WINDOW)
}
