/** Lines of a transcript in bytes, and those that contain certain words, without parsing all the others. Pure. */
import { parseJson } from "../base/json-files.ts"
import { type JsonObject, objectOf } from "./json.ts"

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

/** Offsets of a line: its first byte, and the one after its newline. */
export interface LineSpan {
  readonly from: number
  readonly to: number
}

/** The line that contains byte `at`: callers come from words, and pass over the lines between (not `linesIn`). */
export function lineAt(bytes: Buffer, at: number): LineSpan {
  const end = bytes.indexOf(NEWLINE, at)
  return { from: at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1, to: end < 0 ? bytes.length : end + 1 }
}

/** Its fields; none if it is not a line of Claude Code's. */
export const parsedLine = (bytes: Buffer, { from, to }: LineSpan): JsonObject =>
  objectOf(parseJson(bytes.toString("utf8", from, to)))

interface FoundLine {
  readonly line: JsonObject
  /** Offset of the newline that ends it. */
  readonly end: number
}

/** Lines that contain these words and end in a newline. Parses them one by one: most callers need only the first. */
export function* linesWith(bytes: Buffer, words: string): Generator<FoundLine> {
  for (let at = bytes.indexOf(words); at >= 0; ) {
    const span = lineAt(bytes, at)
    const end = span.to - 1
    if (bytes[end] !== NEWLINE) return
    yield { line: parsedLine(bytes, span), end }
    at = bytes.indexOf(words, end)
  }
}

/** Lines that contain these words and are wanted, also a last one without its newline. */
export function* wantedLines(
  content: Uint8Array,
  words: string,
  isWanted: (fields: JsonObject) => boolean,
): Generator<{ readonly line: LineSpan; readonly fields: JsonObject }> {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  for (let at = bytes.indexOf(words); at >= 0; ) {
    const line = lineAt(bytes, at)
    const fields = parsedLine(bytes, line)
    if (isWanted(fields)) yield { line, fields }
    at = bytes.indexOf(words, line.to)
  }
}

/** Where they begin. */
export const offsetsOf = (...wanted: Parameters<typeof wantedLines>): number[] =>
  [...wantedLines(...wanted)].map(({ line }) => line.from)
