/**
 * Takes the new bytes of a transcript into the spool when the vault cannot be written.
 *
 * A piece is a copy that begins where the vault's copy ends, as far as that can be read. The cursor is the furthest
 * trailer of copy and pieces, so nothing is spooled twice.
 */
import { fstatSync, statSync } from "node:fs"
import { CtxError } from "../base/errors.ts"
import { type Captured, type CaptureRequest, capture, NOTHING_TAKEN } from "./capture.ts"
import { archivedBytes, readTail, type Tail } from "./copy-file.ts"
import { vaultFile } from "./layout.ts"
import { withCopy } from "./reader.ts"
import { follows, sameStart, withSource } from "./source-file.ts"
import { prepareSpool } from "./spool-folders.ts"

interface Spooled {
  /** The place that took it; undefined if a place already held it. */
  readonly folder: string | undefined
  readonly captured: Captured
}

/**
 * @param request as for the vault; its `copy` is the one there, which may be readable
 * @param copy its path below `vault/`
 * @param folders the places, best first
 * @throws the last place's error if none could be written
 */
export function captureToSpool(request: CaptureRequest, copy: string, folders: readonly string[]): Spooled {
  const pieces = folders.map((folder) => vaultFile(folder, copy))
  const known = furthest(request.transcript, [request.copy, ...pieces])
  if (known === undefined) return { folder: undefined, captured: { ...NOTHING_TAKEN, state: "missing" } }
  const { size, tail } = known
  if (tail !== undefined && archivedBytes(tail) === size) {
    const { id } = tail.header
    return { folder: undefined, captured: { ...NOTHING_TAKEN, state: "current", id, archived: size, size } }
  }
  const from = tail && continuing(tail)
  let failure: unknown
  for (const [n, folder] of folders.entries()) {
    if (!prepareSpool(folder)) continue
    try {
      return { folder, captured: capture({ ...request, copy: pieces[n]!, from }) }
    } catch (error) {
      failure = error
    }
  }
  throw failure ?? new CtxError("no-spool", "no folder can take what the vault cannot")
}

function continuing({ header, last }: Tail): NonNullable<CaptureRequest["from"]> | undefined {
  const base =
    last === undefined
      ? header.base
      : { to: last.to, tailHash: last.tailHash.toString(16), hidden: last.hidden }
  return base && { id: header.id, base }
}

/** Among the files that match the current transcript, the end of the one that reaches furthest. */
function furthest(
  transcript: string,
  files: readonly string[],
): { size: number; tail: Tail | undefined } | undefined {
  return withSource(transcript, (source, size) => {
    let best: Tail | undefined
    for (const file of files) {
      const tail = tailIfSame(file, source)
      if (tail !== undefined && (best === undefined || archivedBytes(tail) > archivedBytes(best))) best = tail
    }
    return { size, tail: best }
  })
}

/** Also undefined if the file cannot be read, which is why we are here. */
function tailIfSame(file: string, source: number) {
  try {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined
    return withCopy(file, (fd) => {
      const tail = readTail(fd)
      // Taken after the tail: another hook may have archived what Claude Code has added meanwhile.
      const stats = fstatSync(source)
      if (tail === undefined || !follows(source, stats, tail)) return undefined
      return sameStart(source, stats, { fd, tail }) ? tail : undefined
    })
  } catch {
    return undefined
  }
}
