/** Finds lines of a transcript that contain certain words, without parsing all the others. */
import { type JsonObject, objectOf } from "./json.ts"

const NEWLINE = 0x0a

export interface FoundLine {
  readonly line: JsonObject
  /** Offset of the newline that ends it. */
  readonly end: number
}

/** Parsed lines that contain these words. */
export function linesWith(bytes: Buffer, words: string): FoundLine[] {
  const found: FoundLine[] = []
  for (let at = bytes.indexOf(words); at >= 0; ) {
    const from = at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1
    const end = bytes.indexOf(NEWLINE, at)
    if (end < 0) return found
    try {
      found.push({ line: objectOf(JSON.parse(bytes.toString("utf8", from, end))), end })
    } catch {
      // Not a line of the host's.
    }
    at = bytes.indexOf(words, end)
  }
  return found
}
