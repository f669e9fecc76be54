/** Text broken at words, as wide as a terminal shows it. Pure. */
import { shortLines } from "../util/pages.ts"

/** UTF-16 units: breaking longer ones takes time, and they are data. */
const LONGEST = 20_000
/** Columns of text, however deep it is indented. */
const LEAST = 10
/** What a line begins with: blanks, and the mark of a list, under which its text hangs. */
const LEAD = /^\s*(?:(?:[-*•+]|\d{1,3}[.)]) )?/

/** Lines of at most `columns`; what continues a line is indented like its text. Keeps colours. */
export function wrapped(text: string, columns: number): string[] {
  return shortLines(text, LONGEST).flatMap((line) => {
    if (line.length <= columns && Bun.stringWidth(line) <= columns) return [line]
    const [lead] = LEAD.exec(line)!
    const indent = lead.replace(/\S/g, " ")
    const width = Math.max(LEAST, columns - Bun.stringWidth(lead))
    const pieces = Bun.wrapAnsi(line.slice(lead.length), width, { hard: true }).split("\n")
    return pieces.map((piece, n) => (n === 0 ? lead : indent) + piece)
  })
}

/** The same with all lines indented. */
export const wrappedIn = (indent: string, text: string, columns: number): string[] =>
  wrapped(text, Math.max(LEAST, columns - indent.length)).map((line) => indent + line)
