/** Finds a text that is not merely part of a longer word: `src/app.ts` is not in `src/app.tsx`. Pure. */

/** Whether `known` contains the text with no further letter, digit or underscore at its ends. */
export function containsWhole(known: string | Buffer, text: string): boolean {
  if (text === "") return false
  const codeAt = (n: number): number => (typeof known === "string" ? known.charCodeAt(n) : (known[n] ?? 0))
  const length = typeof known === "string" ? text.length : Buffer.byteLength(text)
  const begins = isWord(text.charCodeAt(0))
  const ends = isWord(text.charCodeAt(text.length - 1))
  for (let at = known.indexOf(text); at >= 0; at = known.indexOf(text, at + 1)) {
    if (!(begins && isWord(codeAt(at - 1))) && !(ends && isWord(codeAt(at + length)))) return true
  }
  return false
}

/** Only in ASCII, since some scripts have no blanks around a name. */
const isWord = (code: number): boolean => /\w/.test(String.fromCharCode(code))

/** A text without its mark of having been cut, and without the word that the cut may have parted. */
export const uncut = (text: string): string => text.replace(/\w*…$/, "")
