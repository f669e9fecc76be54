/** Lines in bytes. Pure. */

export const NEWLINE = 0x0a

/** Where the whole lines end: after the last newline; 0 if there is none. */
export const endOfLines = (bytes: Uint8Array): number => bytes.lastIndexOf(NEWLINE) + 1

/** Each line: its first byte, and the one after its last. That is a newline, or else the line is not whole. */
export function* linesIn(bytes: Uint8Array): Generator<readonly [from: number, to: number]> {
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from)
    const to = newline < 0 ? bytes.length : newline
    yield [from, to]
    from = to + 1
  }
}
