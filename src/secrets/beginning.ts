/** Where a token may begin: not within a word, but behind an escape or a colour. Pure. */

export const isAlphanumeric = (code: number): boolean =>
  (code > 47 && code < 58) || (code > 64 && code < 91) || (code > 96 && code < 123)

/** Whether the character at `start` begins a word. */
export function isBeginning(text: string, start: number): boolean {
  if (!isAlphanumeric(text.charCodeAt(start - 1))) return true
  let from = start
  while (start - from < LONGEST_BEFORE && isAlphanumeric(text.charCodeAt(from - 1))) from--
  return afterEscape(text, from) === start
}

/** Letters and digits that an escape or a colour may put before a token: those of `\u001b`, `[32m`. */
const LONGEST_BEFORE = 5

/** Where the word ends that begins at `start`; of what an escape or a colour adds, nothing counts. */
export function wordBefore(text: string, at: number, longest: number): number {
  let start = at
  while (at - start < longest && isAlphanumeric(text.charCodeAt(start - 1))) start--
  return afterEscape(text, start)
}

/** `\nghp` is a line break and `ghp`, `[32mghp` a colour and `ghp`; likewise in URL and Unicode encoding. */
export function afterEscape(text: string, start: number): number {
  const before = text[start - 1]
  if (before === "\\") {
    const letter = text[start] ?? "-"
    if (letter === "u") return start + 5
    if (letter === "x") return start + 3
    return "nrtbfe".includes(letter) ? start + 1 : start
  }
  if (before === "%") return start + 2
  if (before !== "[" && before !== ";") return start
  let at = start
  while (at < start + 3 && text.charCodeAt(at) < 0x3a && isAlphanumeric(text.charCodeAt(at))) at++
  return at > start && text[at] === "m" ? at + 1 : start
}
