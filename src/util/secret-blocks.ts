/** Private keys: secrets of several lines. Pure. */

export type AddSpan = (start: number, end: number) => void

const BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
const END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** No private key is longer, line numbers and escapes included. */
const LONGEST = 32_768
/** What may stand in a key: base64, its headers, line breaks, numbers of lines and marks of a diff. */
const BODY = /(?:[A-Za-z0-9+/=:,.>| \t\n\r\u0080-\u00ff-]+|\\+[nrt]|%[0-9A-Fa-f]{2})+/y
const BREAK = /\\+[nr]|\n/
const BODY_LINE = /^[\d \t|>+\u0080-\u00ff-]*(?:\\+t)?[A-Za-z0-9+/=]{4,}(?:\\+[nrt]|\r)*$/

/**
 * The bodies of private keys, whole or cut off at either end.
 *
 * @param isLines whether a key ends with its line
 */
export function findKeys(text: string, isLines: boolean, add: AddSpan): void {
  BEGIN.lastIndex = 0
  for (let begin = BEGIN.exec(text); begin !== null; begin = BEGIN.exec(text)) {
    const from = BEGIN.lastIndex
    BODY.lastIndex = from
    const reach = BODY.test(text) ? BODY.lastIndex : from
    END.lastIndex = from
    const end = END.exec(text)
    // Its own end, and not that of a key in another string.
    const to = end !== null && end.index <= reach ? end.index : reach
    add(from, Math.min(to, from + LONGEST))
  }
  END.lastIndex = 0
  for (let end = END.exec(text); end !== null; end = END.exec(text)) {
    const from = bodyBefore(text, end.index, isLines ? text.lastIndexOf("\n", end.index) + 1 : 0)
    if (from < end.index) add(from, end.index)
  }
}

/** Where the lines of base64 begin that stand before `end`. */
function bodyBefore(text: string, end: number, floor: number): number {
  const lowest = Math.max(floor, end - LONGEST, text.lastIndexOf('"', end) + 1)
  const lines = text.slice(lowest, end).split(BREAK)
  let from = end
  // The last piece is what stands before the mark on its own line.
  let at = end - lines.pop()!.length
  while (lines.length > 0) {
    const line = lines.pop()!
    const breakLength = breakBefore(text, at)
    if (!BODY_LINE.test(line)) return from
    at -= breakLength + line.length
    from = at
  }
  return from
}

function breakBefore(text: string, at: number): number {
  if (text[at - 1] === "\n") return 1
  let n = 1
  while (text[at - 1 - n] === "\\") n++
  return n
}
