/** Finds private keys, which are secrets of several lines: in PEM, PuTTY's, and the members of JSON Web Keys. Pure. */
import { tick } from "./clock.ts"
import type { AddSpan } from "./seek.ts"

const beginMark = (): RegExp =>
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----/g
const endMark = (): RegExp =>
  /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|---- END SSH2 ENCRYPTED PRIVATE KEY ----/g
/** No private key is longer, including line numbers and escapes. */
const LONGEST = 32_768
/** What a key may contain: base64, headers, line breaks, line numbers and marks of a diff, strings joined in code. */
const keyBody = (): RegExp =>
  /(?:[A-Za-z0-9+/=:,.>| \t\n\r\u0080-\u00ff-]+|\\+[nrt]|%[0-9A-Fa-f]{2}|(?<=Comment: )\\*"[^"\\\n]{0,200}\\*"|\\{0,7}" ?[+.,]? ?(?:\n|\\{1,7}n)[ \t]{0,40}\\{0,7}")+/y
// Either begins only where it can continue no other way, so neither reads a long text again and again.
const lineBreak = (): RegExp => /(?<!\\)\\+[nr]|\n/
const bodyLine = (): RegExp => /^[\d \t|>+\u0080-\u00ff-]{0,64}(?:\\+t)?[A-Za-z0-9+/=]{4,}(?:\\+[nrt]|\r)*$/

/**
 * Finds the bodies of private keys, whole or cut off at either end. A text may consist of nothing but marks, so no part
 * of it is read again for each mark.
 *
 * @param isLines whether a key ends with its line
 */
export function findKeys(text: string, isLines: boolean, add: AddSpan): void {
  const begins = beginMark()
  const body = keyBody()
  const ends = endMark()
  let reach = 0
  let end = ends.exec(text)
  for (let begin = begins.exec(text); begin !== null; begin = begins.exec(text)) {
    tick()
    const from = begins.lastIndex
    body.lastIndex = from
    // Up to `reach`, the text was already matched from an earlier mark, with the same result.
    if (from >= reach) reach = body.test(text) ? body.lastIndex : from
    while (end !== null && end.index < from) end = ends.exec(text)
    // Only this key's own end mark, not that of a key in another string.
    const to = end !== null && end.index <= reach ? end.index : reach
    add(from, Math.min(to, from + LONGEST))
  }
  ends.lastIndex = 0
  let floor = 0
  for (end = ends.exec(text); end !== null; end = ends.exec(text)) {
    tick()
    const from = bodyBefore(text, end.index, floor, isLines)
    if (from < end.index) add(from, end.index)
    floor = ends.lastIndex
  }
}

/** Where the lines of base64 before `end` begin, but not before `floor`. */
function bodyBefore(text: string, end: number, floor: number, isLines: boolean): number {
  const lowest = Math.max(floor, end - LONGEST)
  const before = text.slice(lowest, end)
  const start = Math.max(before.lastIndexOf('"'), isLines ? before.lastIndexOf("\n") : -1) + 1
  const lines = before.slice(start).split(lineBreak())
  let from = end
  // The last piece is what precedes the mark on its own line.
  let at = end - lines.pop()!.length
  while (lines.length > 0) {
    const line = lines.pop()!
    const breakLength = breakBefore(text, at)
    if (!bodyLine().test(line)) return from
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
