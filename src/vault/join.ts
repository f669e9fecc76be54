/**
 * Moves a piece of the spool into the vault: appends what its copy does not hold yet, reads it back, and only then
 * deletes the piece. Killed at any moment, every byte is in one of the two.
 */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, unlinkSync } from "node:fs"
import { CtxError } from "../util/errors.ts"
import { asItIs } from "./capture.ts"
import {
  archivedBytes,
  inodeOf,
  openLocked,
  readExactly,
  readTail,
  type Segment,
  segmentContent,
  segmentsBackwards,
  setAside,
  type Tail,
  writeFully,
} from "./file.ts"
import { dataFrame, encodeNote, isHalfHeader, NOTE_SIZE, sha256 } from "./frame.ts"
import { supersededPath } from "./layout.ts"
import { lock } from "./lock.ts"
import { sameButForFiller } from "./original.ts"
import { CopyReader } from "./reader.ts"
import type { Edit } from "./rewrite.ts"
import type { Forgotten } from "./tombstones.ts"

/**
 * `joined`: the vault holds all of it · `gap`: the vault lacks what comes before it, or it is no piece of ours: it
 * stays · `busy`: another process has it open.
 */
export type Joined = "joined" | "gap" | "busy"

interface Piece {
  readonly fd: number
  /** Takes out what the user does not want archived. */
  readonly edit: Edit
  readonly tail: Tail
  /** First to last. */
  readonly segments: readonly Segment[]
  /** Offset of its first byte in the transcript. */
  readonly from: number
  readonly to: number
}

/** Called with the absolute path of a copy that the views have to look at, and the path of its transcript. */
type OnGrow = (copy: string, path: string) => void

/**
 * @param file absolute path of the piece
 * @param copy absolute path of the transcript's copy in the vault
 * @param deadline ms of performance.now() until which to wait for others
 * @param forgotten what of the transcript is not to be archived, by its path; asked anew under the piece's lock
 * @param onGrow called with the copy that holds it, before the piece is deleted, and with one that was set aside for it
 * @throws when the vault cannot be written, or the piece is damaged: it stays
 */
export function joinPiece(
  file: string,
  copy: string,
  deadline: number,
  forgotten: (path: string) => Forgotten | undefined,
  onGrow: OnGrow,
): Joined {
  const fd = openSync(file, "r+")
  try {
    if (!lock(fd, deadline)) return "busy"
    // Joined by somebody else while we waited.
    if (fstatSync(fd).ino !== inodeOf(file)) return "joined"
    const tail = readTail(fd)
    if (tail === undefined) {
      const { size } = fstatSync(fd)
      if (!isHalfHeader(readExactly(fd, 0, Math.min(size, 8)), size)) return "gap"
      unlinkSync(file)
      return "joined"
    }
    const segments = [...segmentsBackwards(fd, tail)].reverse()
    const first = segments[0]
    const { whole = false, edit = asItIs } = forgotten(tail.header.path) ?? {}
    if (first !== undefined && !whole) {
      const piece = { fd, edit, tail, segments, from: first.from, to: archivedBytes(tail) }
      const grown = put(piece, copy, deadline, onGrow)
      if (grown === "gap" || grown === "busy") return grown
      onGrow(grown, tail.header.path)
    }
    unlinkSync(file)
    return "joined"
  } finally {
    closeSync(fd)
  }
}

/** @returns the copy that holds it now */
function put(piece: Piece, copy: string, deadline: number, onAside: OnGrow): string | "gap" | "busy" {
  for (const file of candidates(piece, copy)) {
    const done = appendIfSame(piece, file, deadline)
    if (done === "busy") return "busy"
    if (done) return file
  }
  return piece.from > 0 ? "gap" : begin(piece, copy, deadline, onAside)
}

/** The copy and what it was before, that of the piece's own name first. */
function candidates({ tail }: Piece, copy: string): string[] {
  const files: string[] = []
  for (let n = 1; inodeOf(supersededPath(copy, n)) !== undefined; n++) files.push(supersededPath(copy, n))
  if (inodeOf(copy) !== undefined) files.push(copy)
  const own = (file: string): number => (tailAt(file)?.header.id === tail.header.id ? 0 : 1)
  return files.reverse().sort((a, b) => own(a) - own(b))
}

function tailAt(file: string): Tail | undefined {
  const fd = openSync(file, "r")
  try {
    return readTail(fd)
  } finally {
    closeSync(fd)
  }
}

/** Whether the file is of the same transcript; then it holds all of the piece. */
function appendIfSame(piece: Piece, file: string, deadline: number): boolean | "busy" {
  if (tailAt(file) === undefined) return false
  const held = openLocked(file, newCopy(piece), deadline)
  if (held === undefined) return "busy"
  try {
    if (!isSame(piece, file, held.tail)) return false
    append(piece, held.fd, held.tail)
    return true
  } finally {
    closeSync(held.fd)
  }
}

const newCopy = ({ tail: { header } }: Piece) => ({
  id: header.id,
  path: header.path,
  created: header.created,
})

/** Whether piece and copy meet, and are equal where both have bytes. */
function isSame({ fd, edit, tail, segments, from, to }: Piece, file: string, copy: Tail): boolean {
  const end = Math.min(archivedBytes(copy), to)
  if (end < from) return false
  if (end === from) return from === 0 || copy.last?.tailHash.toString(16) === tail.header.base?.tailHash
  const reader = new CopyReader(file)
  try {
    for (const segment of segments) {
      if (segment.from >= end) break
      const content = edit(segmentContent(fd, segment), segment.from).subarray(0, end - segment.from)
      const known = reader.read(segment.from, segment.from + content.length)
      if (!isEqual(content, known)) return false
    }
    return true
  } finally {
    reader.close()
  }
}

/** Either may have been filtered by newer rules than the other. */
const isEqual = (piece: Uint8Array, copy: Uint8Array): boolean =>
  sameButForFiller(copy, piece) === undefined || sameButForFiller(piece, copy) === undefined

/** A transcript that the vault does not know yet, or knows as what it was before, or has become since. */
function begin(piece: Piece, copy: string, deadline: number, onAside: OnGrow): string | "busy" {
  for (;;) {
    // Under the copy's lock: a hook that sets it aside at this moment takes the same name.
    const held = openLocked(copy, newCopy(piece), deadline)
    if (held === undefined) return "busy"
    try {
      const time = held.tail.last?.time
      if (time === undefined) {
        append(piece, held.fd, held.tail)
        return copy
      }
      if (time > (piece.segments.at(-1)?.time ?? 0)) return beginAside(piece, copy, deadline)
      // The views may not have followed it to its end.
      onAside(setAside(copy), held.tail.header.path)
    } finally {
      closeSync(held.fd)
    }
  }
}

/** As what the copy was before. */
function beginAside(piece: Piece, copy: string, deadline: number): string | "busy" {
  const file = firstFree(copy)
  const held = openLocked(file, newCopy(piece), deadline)
  if (held === undefined) return "busy"
  try {
    append(piece, held.fd, held.tail)
    return file
  } finally {
    closeSync(held.fd)
  }
}

function firstFree(copy: string): string {
  for (let n = 1; ; n++) if (inodeOf(supersededPath(copy, n)) === undefined) return supersededPath(copy, n)
}

function append(piece: Piece, fd: number, tail: Tail): void {
  let at = archivedBytes(tail)
  let end = tail.end
  try {
    for (const segment of piece.segments) {
      if (segment.to <= at) continue
      const bytes = framesFrom(piece, segment, at)
      writeFully(fd, bytes, end)
      end += bytes.length
      at = segment.to
    }
    fsyncSync(fd)
  } catch (error) {
    ftruncateSync(fd, tail.end)
    throw error
  }
  const written = readTail(fd)
  if (written === undefined || archivedBytes(written) < piece.to) throw unsound(piece)
  for (const segment of segmentsBackwards(fd, written)) {
    if (segment.position < tail.end) break
    checked(piece, fd, segment)
  }
}

/** A segment's frame and note from offset `at` of the transcript on: as they are, unless the copy holds a part. */
function framesFrom(piece: Piece, segment: Segment, at: number): Uint8Array {
  const read = checked(piece, piece.fd, segment)
  const content = piece.edit(read, segment.from)
  const isEqual = Buffer.compare(content, read) === 0
  if (segment.from === at && isEqual)
    return readExactly(piece.fd, segment.position, segment.frameLength + NOTE_SIZE)
  const rest = content.subarray(at - segment.from)
  const frame = dataFrame(rest)
  const note = { ...segment, from: at, frameLength: frame.length, sha256: sha256(rest) }
  return Buffer.concat([frame, encodeNote(note)])
}

function checked(piece: Piece, fd: number, segment: Segment): Uint8Array {
  const content = segmentContent(fd, segment)
  if (Buffer.compare(sha256(content), segment.sha256) !== 0) throw unsound(piece)
  return content
}

const unsound = ({ tail }: Piece): CtxError =>
  new CtxError("spool-damaged", `what was spooled of ${tail.header.path} is damaged`, {
    hint: "it is kept as it is; ctxbridge status says where",
  })
