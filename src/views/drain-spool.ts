/** Moves the spool into the data folder once that can be written again. */

import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
} from "node:fs"
import { CtxError } from "../base/errors.ts"
import { inodeOf, writeWhole } from "../base/files.ts"
import { renameSync } from "../base/fs.ts"
import { lock } from "../base/lock.ts"
import { isAlive } from "../base/own-program.ts"
import { join, relative } from "../base/path.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { asItIs } from "../vault/capture.ts"
import {
  archivedBytes,
  holdsNothing,
  type LockedCopy,
  matchesTrailer,
  type NewCopy,
  openLocked,
  readExactly,
  readTail,
  type Segment,
  segmentContent,
  segmentsBackwards,
  segmentsFrom,
  setAside,
  type Tail,
  withLockedCopy,
  writeFully,
} from "../vault/copy-file.ts"
import {
  type Base,
  dataFrame,
  encodeTrailer,
  sha256,
  TAIL_WINDOW,
  TRAILER_SIZE,
  xxh64,
} from "../vault/frame.ts"
import { supersededPath, vaultFile, withoutVersion } from "../vault/layout.ts"
import { claimPending, listPending, markPending, type Pending, settlePending } from "../vault/pending.ts"
import { CopyReader, isBegunOnly, tailOf as tailAt, tailOf } from "../vault/reader.ts"
import type { Edit } from "../vault/rewrite.ts"
import { copyFrame, provenContent, writeFrame } from "../vault/rewrite.ts"
import { sameButForFiller } from "../vault/source-file.ts"
import { existingSpools, mayBeSpooled, removeEmptied } from "../vault/spool-folders.ts"
import { type Forgotten, forgottenOf, readTombstone } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { changingSessions, sessionFile } from "./session-files.ts"
import { forgetReason, spooledStates } from "./spool.ts"
import { sessionOfCopy } from "./view-sources.ts"

interface Drained {
  /** Transcripts that were moved. Claude Code may have written more since. */
  readonly transcripts: readonly string[]
  /** Pieces that stay, and why. */
  readonly left: readonly { readonly file: string; readonly reason: string; readonly error?: unknown }[]
}

/** ms to wait for a hook that is writing the same transcript. */
const PATIENCE = 1000

/**
 * @param end ms of performance.now() at which to stop
 * @returns undefined if there is no spool
 */
export function drainSpool(paths: PathsAndPolicy, end: number): Drained | undefined {
  if (!mayBeSpooled(paths)) return undefined
  const transcripts = new Set<string>()
  const left: Drained["left"][number][] = []
  for (const { folder, copy } of pieces(paths)) {
    const file = vaultFile(folder, copy)
    if (performance.now() >= end) {
      left.push({ file, reason: "no time left" })
      continue
    }
    try {
      const path = tailOf(file)?.header.path
      const joined = joinPiece(
        file,
        vaultFile(paths.dataHome, withoutVersion(copy)),
        waitUntil(),
        (of) => forgottenOf(paths.dataHome, sessionOfCopy(folder, copy, of), of),
        (grown, of) => mark(paths.dataHome, grown, of),
      )
      if (joined !== "joined") left.push({ file, reason: joined })
      else if (path !== undefined) transcripts.add(path)
    } catch (error) {
      left.push({ file, reason: "failed", error })
    }
  }
  for (const folder of existingSpools(paths)) moveRest(paths, folder)
  return { transcripts: [...transcripts], left }
}

const waitUntil = (): number => performance.now() + PATIENCE

/** Oldest first: a transcript's former content before its current one, and the pieces of a copy in their order. */
function pieces(paths: PathsAndPolicy): { folder: string; copy: string }[] {
  const found = existingSpools(paths).flatMap((folder) =>
    vaultFiles(folder).map(({ copy }) => {
      const tail = tailOf(vaultFile(folder, copy))
      return { folder, copy, created: tail?.header.created ?? 0, from: tail?.header.base?.to ?? 0 }
    }),
  )
  return found.sort((a, b) => a.created - b.created || a.from - b.from || (a.copy < b.copy ? -1 : 1))
}

function mark(dataHome: string, grown: string, path: string): void {
  const copy = relative(vaultFile(dataHome, ""), grown)
  markPending(dataHome, { path, copy, session: sessionOfCopy(dataHome, copy, path) })
}

/** Moves markers and states, then removes the folder, unless something is left. */
function moveRest(paths: PathsAndPolicy, folder: string): void {
  try {
    for (const pending of listPending(folder)) moveMarker(paths.dataHome, folder, pending)
    for (const { session, file } of spooledStates(folder)) moveState(paths.dataHome, session, file)
    if (vaultFiles(folder).length === 0) forgetReason(folder)
    for (const name of ["pending", "sessions"]) removeHalves(join(folder, name))
    for (const name of ["vault", "pending", "sessions"]) removeEmpty(join(folder, name))
    removeEmptied(folder)
  } catch {
    // It cannot be written yet, or a hook is writing here at this moment. The next call moves the rest.
  }
}

/** A hook may leave a marker at any moment. Claiming renames the present ones, so only these are removed afterwards. */
function moveMarker(dataHome: string, folder: string, pending: Pending): void {
  claimPending(folder, pending.copy)
  markPending(dataHome, pending)
  settlePending(folder, pending.copy)
}

/** Removes the spooled state only after it is in place, then also moves what a hook has written meanwhile. */
function moveState(dataHome: string, session: string, file: string): void {
  const own = sessionFile(dataHome, session)
  const known = statSync(own, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const moved = putState(dataHome, session, file, known)
  const taken = `${file}.${process.pid}`
  renameSync(file, taken)
  putState(dataHome, session, taken, moved)
  unlinkSync(taken)
}

/**
 * Puts a session's state in place if it was written later than `known`, in ms since the epoch.
 *
 * @returns when it was written
 */
function putState(dataHome: string, session: string, file: string, known: number): number {
  return changingSessions(dataHome, () => {
    const written = statSync(file).mtimeMs
    if (written > known && readTombstone(dataHome, session)?.whole !== true)
      writeWhole(sessionFile(dataHome, session), readFileSync(file, "utf8"))
    return written
  })
}

/** Removes what killed processes have left. A file whose hook is still running is about to be renamed. */
function removeHalves(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const pid = Number(name.slice(name.lastIndexOf(".") + 1))
    if (!name.endsWith(".json") && !isAlive(pid)) rmSync(join(folder, name), { force: true })
  }
}

/** Removes folders only, because a hook may put a file there at any moment. */
function removeEmpty(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) removeEmpty(join(folder, entry.name))
    }
    rmdirSync(folder)
  } catch {
    // It does not exist, or is not empty.
  }
}

/*
 * Moves a piece of the spool into the vault: appends what its copy lacks, reads it back, and only then deletes the
 * piece. Even if it is killed, each byte is in at least one of the two.
 */

/**
 * `joined`: the vault holds all of it · `gap`: the piece stays, because the vault lacks what comes before it or because
 * it is not a piece of ours · `busy`: another process has it open.
 */
type Joined = "joined" | "gap" | "busy"

interface Piece {
  readonly fd: number
  /** Removes what the user does not want archived. */
  readonly edit: Edit
  readonly tail: Tail
  readonly segments: readonly Segment[]
  /** Offset of its first byte in the transcript. */
  readonly from: number
  readonly to: number
}

/** Called with the absolute path of a copy that the views must look at, and the path of its transcript. */
type OnGrow = (copy: string, path: string) => void

/**
 * @param file absolute path of the piece
 * @param copy absolute path of the transcript's copy in the vault
 * @param deadline ms of performance.now() until which to wait for others
 * @param forgotten says what of the transcript at a path must not be archived
 * @param onGrow called before the piece is deleted with the copy that now holds it, and with any copy set aside for it
 * @throws if the vault cannot be written or the piece is damaged; the piece then stays
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
    // Somebody else has joined it while we waited.
    if (fstatSync(fd).ino !== inodeOf(file)) return "joined"
    const tail = readTail(fd)
    if (tail === undefined) {
      if (!holdsNothing(fd)) return "gap"
      unlinkSync(file)
      return "joined"
    }
    const segments = segmentsFrom(fd, tail)
    const first = segments[0]
    const { path } = tail.header
    if (first !== undefined && forgotten(path)?.whole !== true) {
      // Asked each time, and so under the copy's lock: `forget` may have written its tombstone meanwhile.
      const edit: Edit = (content, from) => (forgotten(path)?.edit ?? asItIs)(content, from)
      const piece = { fd, edit, tail, segments, from: first.from, to: archivedBytes(tail) }
      const grown = put(piece, copy, deadline, onGrow)
      if (grown === "gap" || grown === "busy") return grown
      onGrow(grown, path)
    }
    unlinkSync(file)
    return "joined"
  } finally {
    closeSync(fd)
  }
}

/** @returns the copy that now holds it */
function put(piece: Piece, copy: string, deadline: number, onAside: OnGrow): string | "gap" | "busy" {
  const known = candidates(piece, copy)
  for (const file of known) {
    const done = appendIfSame(piece, file, deadline)
    if (done === "busy") return "busy"
    if (done) return file
  }
  const start = startOf(piece, known)
  return start === undefined ? "gap" : begin(piece, start, copy, deadline, onAside)
}

interface Start {
  readonly header: NewCopy
  /** The file that holds what comes before the piece; undefined if nothing does. */
  readonly before: string | undefined
}

/**
 * Claude Code has gone back to a line before the piece, and on from there: up to that line, both versions are the same.
 */
function startOf({ tail: { header }, from }: Piece, known: readonly string[]): Start | undefined {
  const { base, path, created } = header
  if (base === undefined || from === 0) return { header: { id: header.id, path, created }, before: undefined }
  const before = known.find((file) => precedes(file, header.id, base))
  if (before === undefined) return undefined
  const id = branchId(header.id, base, created)
  const isTaken = known.some((file) => {
    const tail = tailAt(file)
    return tail?.header.id === id && archivedBytes(tail) > from
  })
  // As old as what it begins with, because sessions that copy its lines come after it.
  const since = Math.min(created, tailAt(before)?.header.created ?? created)
  return { header: { id: isTaken ? undefined : id, path, created: since }, before }
}

/** The copy and its superseded versions, newest first, but any with the piece's own id before the others. */
function candidates({ tail }: Piece, copy: string): string[] {
  const files: string[] = []
  for (let n = 1; inodeOf(supersededPath(copy, n)) !== undefined; n++) files.push(supersededPath(copy, n))
  if (inodeOf(copy) !== undefined) files.push(copy)
  const own = (file: string): number => (tailAt(file)?.header.id === tail.header.id ? 0 : 1)
  return files.reverse().sort((a, b) => own(a) - own(b))
}

/** Whether the file is of the same transcript; if so, it now holds all of the piece. */
function appendIfSame(piece: Piece, file: string, deadline: number): boolean | "busy" {
  const header = tailAt(file)?.header
  if (header === undefined) return false
  return withLockedCopy<boolean | "busy">(
    file,
    header,
    deadline,
    ({ fd, tail }) => {
      if (!isSame(piece, file, tail)) return false
      append(piece, fd, tail)
      return true
    },
    () => "busy",
  )
}

/** Whether piece and copy meet, and are equal where they overlap. */
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

/** For a transcript that the vault does not know, or knows only with other content. */
function begin(
  piece: Piece,
  { header, before }: Start,
  copy: string,
  deadline: number,
  onAside: OnGrow,
): string | "busy" {
  let start = { header, before }
  for (;;) {
    // Under the copy's lock, since a hook that sets the copy aside at this moment would take the same name.
    const held = openLocked(copy, header, deadline)
    if (held === undefined) return "busy"
    try {
      const time = held.tail.last?.time
      if (time === undefined || isBegun(piece, start, held.tail)) {
        append(piece, held.fd, started(start, piece, held))
        return copy
      }
      if (time > (piece.segments.at(-1)?.time ?? 0)) return beginAside(piece, start, copy, deadline)
      const aside = setAside(copy)
      if (before === copy) start = { header, before: aside }
      // The views may not have followed it to its end.
      onAside(aside, held.tail.header.path)
    } finally {
      closeSync(held.fd)
    }
  }
}

/** Whether a process that died has begun this very version, and nobody has gone on with it. */
const isBegun = ({ from }: Piece, { header, before }: Start, tail: Tail): boolean =>
  before !== undefined && tail.header.id === header.id && archivedBytes(tail) <= from

/** How the copy ends once it holds what comes before the piece. */
function started({ before }: Start, { tail, edit }: Piece, held: LockedCopy): Tail {
  const { base } = tail.header
  return before === undefined || base === undefined ? held.tail : copyUpTo(before, held, base, edit)
}

/** Stores the piece as a superseded copy. */
function beginAside(piece: Piece, start: Start, copy: string, deadline: number): string | "busy" {
  const file = placeAside(piece, start, copy)
  const store = (held: LockedCopy): string => {
    append(piece, held.fd, started(start, piece, held))
    return file
  }
  return withLockedCopy(file, start.header, deadline, store, () => "busy")
}

/** Called under the copy's lock, so whoever has left a file with half a header there is dead. */
function placeAside(piece: Piece, start: Start, copy: string): string {
  for (let n = 1; ; n++) {
    const file = supersededPath(copy, n)
    if (inodeOf(file) === undefined) return file
    const tail = tailAt(file)
    if (tail === undefined ? isBegunOnly(file) : isBegun(piece, start, tail)) return file
  }
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

/**
 * A segment's frame and trailer from offset `at` of the transcript on: unchanged, unless the copy already holds a part
 * or the edit changes it.
 */
function framesFrom(piece: Piece, segment: Segment, at: number): Uint8Array {
  const read = checked(piece, piece.fd, segment)
  const content = piece.edit(read, segment.from)
  const isEqual = Buffer.compare(content, read) === 0
  if (segment.from === at && isEqual)
    return readExactly(piece.fd, segment.position, segment.frameLength + TRAILER_SIZE)
  const rest = content.subarray(at - segment.from)
  const frame = dataFrame(rest)
  const trailer = { ...segment, from: at, frameLength: frame.length, sha256: sha256(rest) }
  return Buffer.concat([frame, encodeTrailer(trailer)])
}

function checked(piece: Piece, fd: number, segment: Segment): Uint8Array {
  const content = segmentContent(fd, segment)
  if (!matchesTrailer(content, segment)) throw unsound(piece)
  return content
}

const unsound = ({ tail }: Piece): CtxError =>
  new CtxError("spool-damaged", `what was spooled of ${tail.header.path} is damaged`, {
    hint: "it is kept as it is; ctxbridge status says where",
  })

/*
 * Begins a version of a transcript with what another version holds of it: Claude Code has gone back to an earlier line,
 * and what came after that line was spooled.
 */

/** The same each time, so that a version that a killed process has begun is found again. */
const branchId = (id: string, { to, tailHash }: Base, created: number): string =>
  Bun.hash.xxHash64(`${id} ${to} ${tailHash} ${created}`, 0n).toString(16).padStart(16, "0")

/** Whether the file holds what comes before `base`: it is the copy with this id, or has the noted end there. */
function precedes(file: string, id: string, { to, tailHash }: Base): boolean {
  const tail = tailOf(file)
  if (tail === undefined || archivedBytes(tail) < to) return false
  if (tail.header.id === id) return true
  const reader = new CopyReader(file)
  try {
    return xxh64(reader.read(Math.max(0, to - TAIL_WINDOW), to)).toString(16) === tailHash
  } finally {
    reader.close()
  }
}

/**
 * Copies from another version what `held` lacks of the transcript up to `base`, frame by frame: a killed process may
 * have begun it.
 *
 * @param edit removes what must not be archived
 * @returns how the copy ends now
 * @throws CtxError `vault-damaged` if the other version is
 */
function copyUpTo(from: string, held: LockedCopy, base: Base, edit: Edit): Tail {
  const fd = openSync(from, "r")
  try {
    const other = readTail(fd)
    const segments = other === undefined ? [] : segmentsFrom(fd, other)
    let { end } = held.tail
    for (const segment of segments) {
      if (segment.to <= archivedBytes(held.tail) || segment.from >= base.to) continue
      const content = provenContent(fd, segment)
      const edited = edit(content, segment.from)
      const isCut = segment.to > base.to
      if (edited === content && !isCut) end += copyFrame(fd, held.fd, end, segment)
      else {
        const about = isCut ? { ...segment, ...endOf(base) } : segment
        end += writeFrame(held.fd, end, edited.subarray(0, about.to - segment.from), about)
      }
    }
    fsyncSync(held.fd)
    return readTail(held.fd) ?? held.tail
  } finally {
    closeSync(fd)
  }
}

/** What the trailer of a frame says that ends there. */
const endOf = ({ to, tailHash, hidden }: Base) => ({
  to,
  tailHash: BigInt(`0x${tailHash}`),
  hidden: hidden ?? 0,
})
