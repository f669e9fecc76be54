/** Splits what a peer writes into lines. Whatever it writes, no more than one line is kept in memory. */
import { linesIn } from "../util/byte-lines.ts"

/** Maximum length of a line, in bytes; a request to us takes a few thousand. */
export const LONGEST_REQUEST = 1 << 20

/** A line without its line break; undefined for one that was too long, of which nothing is kept. */
export type PeerLine = string | undefined

/** @yields every terminated line, and a last one without a line break */
export async function* peerLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<PeerLine> {
  let pieces: Uint8Array[] = []
  let length = 0
  const add = (piece: Uint8Array): void => {
    length += piece.length
    if (length > LONGEST_REQUEST) pieces = []
    else pieces.push(piece)
  }
  const take = (): PeerLine => {
    const isWhole = length <= LONGEST_REQUEST
    const line = isWhole ? Buffer.concat(pieces).toString("utf8").replace(/\r$/, "") : undefined
    pieces = []
    length = 0
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
