/** Reads a transcript out of the vault, byte for byte as the host wrote it. */
import type { Database } from "../archive/database.ts"
import { type TranscriptRow, transcriptsOf } from "../archive/transcript-rows.ts"
import { linesOfTurn } from "../read/turn.ts"
import { NEWLINE } from "../util/byte-lines.ts"
import { CtxError, EXIT } from "../util/errors.ts"
import { isFetchedCopy, isSuperseded, vaultFile } from "../vault/layout.ts"
import { CopyReader, CopyReaders } from "../vault/reader.ts"
import type { Selection } from "./selection.ts"

/** Yields one frame at a time: a transcript may be larger than memory. Each transcript begins on a line of its own. */
export function* exportRaw(db: Database, dataHome: string, selection: Selection): Generator<Uint8Array> {
  if (selection.kind === "turn") {
    const readers = new CopyReaders()
    try {
      for (const line of linesOfTurn(db, dataHome, selection.turn, readers)) {
        yield line
        yield Uint8Array.of(NEWLINE)
      }
    } finally {
      readers.close()
    }
    return
  }
  // Find all copies before the first byte is written.
  const copies = selection.sessions.map(({ id }) => transcriptOf(db, id))
  let last: number | undefined = NEWLINE
  for (const { copy } of copies) {
    // A host that was killed leaves a last line without its newline.
    if (last !== NEWLINE) yield Uint8Array.of(NEWLINE)
    const reader = new CopyReader(vaultFile(dataHome, copy))
    try {
      for (const piece of reader.pieces()) {
        yield piece
        last = piece.at(-1)
      }
    } finally {
      reader.close()
    }
  }
}

/** The current transcript, this machine's own; if there are several (a session resumed in another folder), the longest. */
function transcriptOf(db: Database, session: string): TranscriptRow {
  const all = transcriptsOf(db, session)
  const there = all.filter(({ copy }) => copy.endsWith(".zst"))
  const current = there.filter(({ copy }) => !isSuperseded(copy))
  const own = current.filter(({ copy }) => !isFetchedCopy(copy))
  const candidates = own.length > 0 ? own : current.length > 0 ? current : there.length > 0 ? there : all
  const [longest] = candidates.toSorted((a, b) => b.archived - a.archived)
  if (longest !== undefined) return longest
  throw new CtxError("not-found", `no transcript of session ${session} in the archive`, {
    exit: EXIT.notFound,
  })
}
