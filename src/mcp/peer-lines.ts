/** Splits what a peer writes into lines. Whatever it writes, no more than one line is kept in memory. */
import { linesIn } from "../util/byte-lines.ts"
import { IdFinder, type RequestId } from "./request-id.ts"

/** Maximum length of a line, in bytes; a request to us takes a few thousand. */
export const LONGEST_REQUEST = 1 << 20

/** A line without its line break. Of one that was too long only the request's id is kept, if it has one. */
export type PeerLine = string | { readonly id: RequestId | undefined }

/** @yields every terminated line, and a last one without a line break */
export async function* peerLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<PeerLine> {
  let pieces: Uint8Array[] = []
  let length = 0
  let finder: IdFinder | undefined
  const add = (piece: Uint8Array): void => {
    length += piece.length
    pieces.push(piece)
    if (length <= LONGEST_REQUEST) return
    finder ??= new IdFinder()
    for (const one of pieces) finder.read(one)
    pieces = []
  }
  const take = (): PeerLine => {
    const line = finder ? { id: finder.id } : Buffer.concat(pieces).toString("utf8").replace(/\r$/, "")
    pieces = []
    length = 0
    finder = undefined
    return line
  }
  for await (const chunk of chunks) {
    for (const [from, to] of linesIn(chunk)) {
      const isWhole = to < chunk.length
      add(isWhole ? chunk.subarray(from, to) : chunk.slice(from))
      if (isWhole) yield take()
    }
  }
  if (length > 0) yield take()
}
