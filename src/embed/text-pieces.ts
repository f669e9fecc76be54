/** Splits text into pieces that fit a model. Pure. */

/** Tokens that the model was made for, including the two it adds. */
export const MOST_TOKENS = 256
/** Only this much of a long text is embedded: nobody searches for a pasted file by its meaning. */
export const MOST_PIECES = 16
/** UTF-16 units that in most texts make fewer than MOST_TOKENS tokens. */
const LIKELY = 900
/** A shorter remainder stays with the piece before it, if it fits. */
const WORTH_IT = 40

/** @param tokens counts a text's tokens the way the model does */
export function piecesOf(text: string, tokens: (text: string) => number): string[] {
  const pieces: string[] = []
  // Longer than all pieces together can be, so the rest need not be tokenised.
  let rest = text.trim().slice(0, MOST_PIECES * MOST_TOKENS * 8)
  while (rest !== "" && pieces.length < MOST_PIECES) {
    let length = rest.length <= LIKELY + WORTH_IT ? rest.length : breakBefore(rest, LIKELY)
    while (length > 1 && tokens(rest.slice(0, length)) > MOST_TOKENS) {
      length = breakBefore(rest, Math.floor(length / 2))
    }
    const piece = rest.slice(0, length).trim()
    if (piece !== "") pieces.push(piece)
    rest = rest.slice(length).trimStart()
  }
  return pieces
}

/**
 * Where to cut, at `limit` or before: after a paragraph, a sentence or a word, otherwise anywhere but inside a
 * surrogate pair.
 */
function breakBefore(text: string, limit: number): number {
  const head = text.slice(0, limit)
  const least = Math.floor(limit / 2)
  for (const mark of [/\n\s*\n/g, /\n/g, /[.!?;:。！？]\s/g, /\s/g]) {
    let at = -1
    for (const match of head.matchAll(mark)) at = match.index + match[0].length
    if (at > least) return at
  }
  const unit = text.charCodeAt(limit - 1)
  return limit > 1 && unit >= 0xd800 && unit <= 0xdbff ? limit - 1 : Math.max(1, limit)
}
