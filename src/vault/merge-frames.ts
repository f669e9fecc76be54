/**
 * Merges the small frames of a copy into larger ones, as a hook's frame holds a few lines and compresses badly. The
 * transcript's bytes, their hashes and the copy's id stay the same.
 */
import { fstatSync } from "node:fs"
import { readExactly, readTail, type Segment, writeFully } from "./copy-file.ts"
import { withCopy } from "./reader.ts"
import { copyFrame, provenContent, swapCopy, wholeChain, writeFrame } from "./swap-copy.ts"

/**
 * Most bytes of transcript in a merged frame. A search unpacks a frame for each text it shows: a frame of 1 MB takes
 * twice as long and saves a twentieth of the space.
 */
const CHUNK = 256 << 10
/** ms to wait for a writer. */
const PATIENCE = 2000

export interface Layout {
  readonly frames: number
  readonly merged: number
  readonly bytes: number
}

export interface Compacted extends Layout {
  readonly after: number
}

/** Frames to be merged into one. A single frame is copied as it is. */
type Group = readonly Segment[]

/** A copy's frames before and after merging; undefined if there is no copy, or `verify` would reject their chain. */
export function layoutOf(file: string): Layout | undefined {
  return withCopy(file, (fd) => {
    const plan = planOf(fd)
    return plan && { frames: plan.frames, merged: plan.groups.length, bytes: fstatSync(fd).size }
  })
}

/**
 * Only one process may call this at a time (compact-vault.ts).
 *
 * @param file absolute path of the copy
 * @returns undefined if there is nothing to merge, or a writer held the lock throughout
 * @throws CtxError `vault-damaged` if a frame does not match its note; the copy stays as it is
 */
export function compactCopy(file: string): Compacted | undefined {
  return withCopy(file, (fd) => {
    const plan = planOf(fd)
    if (plan === undefined || plan.groups.length === plan.frames) return undefined
    const bytes = fstatSync(fd).size
    const after = swapCopy(file, fd, PATIENCE, {
      begin: (out) => rewrite(fd, out, plan),
      finish(out, end, tail) {
        const rest = readExactly(fd, plan.end, tail.end - plan.end)
        writeFully(out, rest, end)
        return end + rest.length
      },
    })
    return after === undefined ? undefined : { frames: plan.frames, merged: plan.groups.length, bytes, after }
  })
}

interface Plan {
  readonly headerLength: number
  /** Position in the old file where the groups end. */
  readonly end: number
  readonly frames: number
  readonly groups: readonly Group[]
}

function planOf(fd: number): Plan | undefined {
  const tail = readTail(fd)
  const segments = tail && wholeChain(fd, tail)
  if (tail === undefined || segments === undefined) return undefined
  const groups: Segment[][] = []
  for (const segment of segments) {
    const last = groups.at(-1)
    if (last !== undefined && segment.to - last[0]!.from <= CHUNK) last.push(segment)
    else groups.push([segment])
  }
  return { headerLength: tail.headerLength, end: tail.end, frames: segments.length, groups }
}

/** @returns bytes written */
function rewrite(fd: number, out: number, { headerLength, groups }: Plan): number {
  writeFully(out, readExactly(fd, 0, headerLength), 0)
  let end = headerLength
  for (const group of groups) {
    end += group.length === 1 ? copyFrame(fd, out, end, group[0]!) : merge(fd, out, end, group)
  }
  return end
}

function merge(fd: number, out: number, end: number, group: Group): number {
  const content = Buffer.concat(group.map((segment) => provenContent(fd, segment)))
  // The merged frame is only as well filtered as its least filtered part.
  const rules = Math.min(...group.map((segment) => segment.rules))
  return writeFrame(out, end, content, { ...group.at(-1)!, from: group[0]!.from, rules })
}
