/**
 * Copies that mirror those of another machine: frames are appended as they came, each one proven first, and nothing is
 * captured into them.
 */
import { closeSync, fsyncSync } from "node:fs"
import { CtxError } from "../base/errors.ts"
import { FILLER } from "../secrets/fill.ts"
import { LONGEST_UNCUT } from "./capture.ts"
import { archivedBytes, openLocked, writeFully } from "./copy-file.ts"
import { dataFrame, encodeTrailer, frameContent, sha256, TRAILER_SIZE, type Trailer } from "./frame.ts"
import { isFetchedCopy, machineOf } from "./layout.ts"
import { stretchesFrom } from "./reader.ts"
import { rewriteCopy } from "./rewrite.ts"

export interface MirroredFrame extends Omit<Trailer, "frameLength"> {
  /** One zstd frame. */
  readonly frame: Uint8Array
}

interface MirrorOptions {
  /** Its header: the transcript's path there, and when the copy was begun. */
  readonly path: string
  readonly created: number
  readonly id: string
  /**
   * Fills what must not be archived here, with as many bytes.
   *
   * @param hidden number of records that an earlier `<private>` still hides
   */
  readonly edit: (content: Uint8Array, hidden: number) => Uint8Array
  /** Asked under the lock, since somebody may have forgotten the session meanwhile. */
  readonly isUnwanted: () => boolean
  /** Called before the first byte is written, and after the last one. */
  readonly onGrow: () => void
}

/** ms to wait for another process that has the copy open. */
const PATIENCE = 5000

/** Whose copy a mirror is, and its id there; undefined: it is no mirror. */
export function mirrorOf(copy: string): { readonly writer: string; readonly copy: string } | undefined {
  const id = isFetchedCopy(copy) ? copy.split("/")[2] : undefined
  return id === undefined ? undefined : { writer: machineOf(copy), copy: id }
}

/** The same each time, and never the id of a copy of our own. */
const mirrorId = (machine: string, id: string): string =>
  Bun.hash.xxHash64(`${machine} ${id}`, 0n).toString(16).padStart(16, "0")

/** Of a mirror whose words count as the user's own, and of one whose words do not. */
export const mirrorIds = (
  machine: string,
  id: string,
): { readonly own: string; readonly others: string } => ({
  own: mirrorId(machine, id),
  others: mirrorId(`others ${machine}`, id),
})

/**
 * Appends what the mirror lacks of these frames. They are on the disk when it returns.
 *
 * @returns bytes of the transcript that were added
 * @throws CtxError `frame-damaged` at a frame that is not what it says; those before it are kept. `busy`
 */
export function appendMirrored(
  file: string,
  frames: readonly MirroredFrame[],
  { edit, isUnwanted, onGrow, ...header }: MirrorOptions,
): number {
  if (isUnwanted()) return 0
  onGrow()
  const held = openLocked(file, header, performance.now() + PATIENCE)
  if (held === undefined) throw new CtxError("busy", `another process is writing ${file}`)
  const before = archivedBytes(held.tail)
  let [at, end, hidden] = [before, held.tail.end, held.tail.last?.hidden ?? 0]
  try {
    if (isUnwanted()) return 0
    for (const frame of frames) {
      if (frame.to <= at) continue
      if (frame.from > at) break
      const bytes = framesOf(frame, at, (content) => edit(content, hidden))
      writeFully(held.fd, bytes, end)
      end += bytes.length
      at = frame.to
      hidden = frame.hidden
    }
  } finally {
    fsyncSync(held.fd)
    closeSync(held.fd)
    onGrow()
  }
  return at - before
}

/**
 * A frame and its trailer, from offset `at` of the transcript on: unchanged unless some of it is there or must be
 * filled.
 */
function framesOf(
  { frame, ...trailer }: MirroredFrame,
  at: number,
  edit: (content: Uint8Array) => Uint8Array,
): Uint8Array {
  const content = provenFrame({ ...trailer, frame })
  const rest = at === trailer.from ? content : content.subarray(at - trailer.from)
  const edited = edit(rest)
  if (edited === content) {
    const told = encodeTrailer({ ...trailer, frameLength: frame.length })
    return Buffer.concat([frame, told])
  }
  const made = dataFrame(edited)
  const told = encodeTrailer({ ...trailer, from: at, frameLength: made.length, sha256: sha256(edited) })
  const both = new Uint8Array(made.length + TRAILER_SIZE)
  both.set(made)
  both.set(told, made.length)
  return both
}

/** Bytes of a transcript in one frame: the longest line that is archived uncut, with room to spare. */
const LONGEST_FRAME = LONGEST_UNCUT + (16 << 20)
/** Lines of this length are pictures and logs, none of which gets a thousandth when compressed. */
const LONG_FRAME = 4 << 20
const MOST_RATIO = 1000

/**
 * Others may have made the frame: no more is unpacked than it is said to hold.
 *
 * @throws CtxError `frame-damaged`
 */
export function provenFrame({ frame, from, to, sha256: noted }: MirroredFrame): Uint8Array {
  const wrong = (cause?: unknown): CtxError =>
    new CtxError("frame-damaged", `bytes ${from} to ${to} are not what was sent`, { cause })
  const size = to - from
  if (size > LONGEST_FRAME || (size > LONG_FRAME && size > MOST_RATIO * frame.length)) throw wrong()
  let content: Uint8Array
  try {
    content = frameContent(frame, size)
  } catch (cause) {
    throw wrong(cause)
  }
  if (Buffer.compare(sha256(content), noted) !== 0) throw wrong()
  return content
}

/**
 * Fills in a mirror what was filled on the other machine since. What is filled here already stays so.
 *
 * @param there the transcript's first bytes as they are there now
 * @returns whether anything was filled; undefined if they are not the same transcript
 */
export function fillMirror(file: string, there: Uint8Array): boolean | undefined {
  for (const { from, content } of stretchesFrom(file, 0)) {
    const now = there.subarray(from, from + content.length)
    for (let n = 0; n < now.length; n++)
      if (content[n] !== now[n] && content[n] !== FILLER && now[n] !== FILLER) return undefined
  }
  const done = rewriteCopy(file, (content, from) => {
    const filled = new Uint8Array(content)
    for (const [n, byte] of there.subarray(from, from + content.length).entries())
      if (byte === FILLER) filled[n] = FILLER
    return filled
  })
  return (done?.changed ?? 0) > 0
}
