/**
 * Begins a version of a transcript with what another version holds of it: the host has gone back to an earlier line, and
 * what came after that line was spooled.
 */
import { closeSync, fsyncSync, openSync } from "node:fs"
import { archivedBytes, type LockedCopy, readTail, segmentsFrom, type Tail } from "./copy-file.ts"
import { type Base, TAIL_WINDOW, xxh64 } from "./frame.ts"
import { CopyReader, tailOf } from "./reader.ts"
import type { Edit } from "./rewrite.ts"
import { copyFrame, provenContent, writeFrame } from "./swap-copy.ts"

/** The same each time, so that a version that a killed process has begun is found again. */
export const branchId = (id: string, { to, tailHash }: Base, created: number): string =>
  Bun.hash.xxHash64(`${id} ${to} ${tailHash} ${created}`, 0n).toString(16).padStart(16, "0")

/** Whether the file holds what comes before `base`: it is the copy with this id, or has the noted end there. */
export function precedes(file: string, id: string, { to, tailHash }: Base): boolean {
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
export function copyUpTo(from: string, held: LockedCopy, base: Base, edit: Edit): Tail {
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

/** What the note of a frame says that ends there. */
const endOf = ({ to, tailHash, hidden }: Base) => ({
  to,
  tailHash: BigInt(`0x${tailHash}`),
  hidden: hidden ?? 0,
})
