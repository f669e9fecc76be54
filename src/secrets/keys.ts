/** Finds private keys that are not in PEM: PuTTY's, and the private members of JSON Web Keys. Pure. */
import type { AddSpan } from "./blocks.ts"
import { tick } from "./clock.ts"

/** Lines of base64, perhaps with line numbers or the marks of a diff before each. */
const linesAt = (): RegExp =>
  /(?:(?:\\{1,8}[nr]|[\r\n])+(?:\\{1,8}t|[\d \t|>+\u0080-\u00ff]){0,16}[A-Za-z0-9+/]{4,128}={0,2}(?=[\\\r\n"'`<]|$))+/y
const PUTTY = "Private-Lines:"

/** @param bytes what `text` was made from */
export function findOtherKeys(bytes: Buffer, text: string, add: AddSpan): void {
  for (let at = next(bytes, PUTTY, 0); at >= 0; at = next(bytes, PUTTY, at + 1)) {
    tick()
    const lines = linesAt()
    lines.lastIndex = at + PUTTY.length + /^ ?\d{0,4}/.exec(text.slice(at + PUTTY.length, at + 30))![0].length
    const start = lines.lastIndex
    if (lines.test(text)) add(start, lines.lastIndex)
  }
  let floor = 0
  for (let at = next(bytes, "kty", 0); at >= 0; at = next(bytes, "kty", Math.max(at + 3, floor))) {
    tick()
    floor = inKey(text, at, Math.max(floor, at - LARGEST), add)
  }
}

const next = (bytes: Buffer, needle: string, from: number): number => bytes.indexOf(needle, from, "latin1")

/** Characters on either side of the key's type. No key has more. */
const LARGEST = 8192
const memberOf = (): RegExp => /(?<![\w-])(?:[dpqk]|d[pq]|qi)\\*["']?[ \t]*:\s{0,8}\\*["']([\w-]{16,})/g

/**
 * Fills the private members of the object in which `kty` stands.
 *
 * @param floor what precedes it was read already
 * @returns up to where the text was read
 */
function inKey(text: string, at: number, floor: number, add: AddSpan): number {
  const before = text.slice(floor, at).lastIndexOf("{")
  if (before < 0 || !/^kty\\*["']?[ \t]*:/.test(text.slice(at, at + 24))) return at
  const start = floor + before
  const object = /^[^{}]*/.exec(text.slice(start + 1, at + LARGEST))![0]
  for (const match of object.matchAll(memberOf())) {
    const from = start + 1 + match.index + match[0].length - match[1]!.length
    add(from, from + match[1]!.length)
  }
  return start + 1 + object.length
}
