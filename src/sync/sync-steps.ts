/** What the steps of a sync know of the world. Pure. */
import type { PathsAndPolicy } from "../config/load.ts"
import { type MirroredFrame, mirrorIds, provenFrame } from "../vault/mirror-copy.ts"
import { fillLines } from "../vault/tombstone.ts"
import type { Database } from "../views/database.ts"
import { isOfSession } from "./targets/entry.ts"
import type { CopyName, LineFills, PieceAbout, VaultPiece } from "./targets/pieces.ts"

export interface SyncWorld {
  readonly place: PathsAndPolicy
  /** Opens the views for one look: whoever wants them alone need not wait for the network. */
  readonly look: <T>(use: (db: Database) => T) => T
  readonly onProgress?: (label: string, done: number, total: number) => void
  /** Called before each batch; what it throws ends the sync. */
  readonly goOn?: () => void
  /** Where frames are kept. */
  readonly others?: OthersThere
}

/** What other machines have done at the target. */
export interface OthersThere {
  /** Whether whoever sent the bytes of this copy of the vault has sent its turns, too. */
  isTheirs(copy: string): boolean
  /** Fills in lines of a session what anybody has taken out; undefined if that is nothing. */
  fillerFor(session: string): ((line: Uint8Array) => Uint8Array) | undefined
  /** Sessions out of which anybody has taken something; none if that is no more than at the last sync. */
  readonly newlyFilled: readonly string[]
  /** Another one whenever they have taken out more. */
  readonly fillsStamp: string
  /** Looks again at what was taken out. */
  look(): Promise<void>
}

/* Pieces at a target, as the vault sees them: which of them follow each other, and whether they are what they say. Pure. */

/** Pieces that go at once, and bytes of transcript that are asked for. */
const MOST_PIECES = 50
const MOST_ASKED = 8 << 20

/** Pieces that go at once: if nothing else is said, that are asked for. */
export function* inBatches<P extends PieceAbout>(
  pieces: Iterable<P>,
  most = MOST_ASKED,
  sizeOf = ({ from, to }: P): number => to - from,
): Generator<P[]> {
  let batch: P[] = []
  let bytes = 0
  for (const piece of pieces) {
    batch.push(piece)
    bytes += sizeOf(piece)
    if (batch.length < MOST_PIECES && bytes < most) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

/** Pieces from the first byte on, up to the first gap. */
export function contiguous<P extends PieceAbout>(pieces: readonly P[]): P[] {
  const found: P[] = []
  for (const piece of pieces) if (piece.from === (found.at(-1)?.to ?? 0)) found.push(piece)
  return found
}

/**
 * Says of a copy whose it is. Former versions passed on what they had fetched as their own, under an id that only tells
 * so to whoever knows the copy that it was made of.
 *
 * @param known copies that are known
 */
export function ownerships(known: Iterable<CopyName>): (name: CopyName) => CopyName {
  const mirrored = new Map<string, CopyName>()
  for (const one of known)
    for (const id of Object.values(mirrorIds(one.writer, one.copy))) mirrored.set(id, one)
  return ({ writer, copy }) => {
    let found = { writer, copy }
    for (let n = 0; n < MOST_HANDS; n++) found = mirrored.get(found.copy) ?? found
    return found
  }
}

/** Machines that a copy was passed on by, one after the other. */
const MOST_HANDS = 5

export const frameOf = ({
  from,
  to,
  sha256,
  tailHash,
  time,
  rules,
  hidden,
  frame,
}: VaultPiece): MirroredFrame => ({
  ...{ from, to, time, rules, hidden, frame, inode: 0n },
  sha256: new Uint8Array(Buffer.from(sha256, "hex")),
  tailHash: BigInt(`0x${tailHash}`),
})

export function isProven(piece: VaultPiece): boolean {
  try {
    provenFrame(frameOf(piece))
    return true
  } catch {
    return false
  }
}

export const fillsOf = (fills: readonly LineFills[], session: string): LineFills[] =>
  fills.filter((one) => isOfSession(session, one.session))

/** Fills what anybody has taken out of lines of a session. */
export function fillerFor(fills: readonly LineFills[], session: string): (content: Uint8Array) => Uint8Array {
  const its = fillsOf(fills, session)
  return (content) => {
    let filled = content
    // One may know a line as another one has left it.
    for (let before: Uint8Array | undefined; before !== filled; ) {
      before = filled
      for (const one of its) filled = fillLines(filled, one)
    }
    return filled
  }
}
