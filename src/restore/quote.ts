/** How text from the archive stands in what we say: always as a quotation, never as a line of its own. Pure. */
import { errorLinesIn } from "../transcript/error-lines.ts"
import { cut, oneLine } from "../util/text.ts"
import { inert, neutral, visible } from "./neutral.ts"
import { withoutFolder } from "./typed.ts"

/** Characters that are looked at for one that is shown: the rest would be cut off anyway. */
const LOOKED_AT = 20

/** Of them, once white space is folded, those in which tags are looked for: behind a bracket they need some room. */
const SEARCHED = 8

/** Folded before tags are looked for, so that no white space keeps a bracket from its name. */
const line = (text: string, limit: number): string =>
  oneLine(visible(text.slice(0, limit * LOOKED_AT))).slice(0, limit * SEARCHED)

/** Words of the human or the model: on one line, in quotation marks, at most `limit` characters between them. */
export const said = (text: string, limit: number): string => marked(neutral(line(text, limit)), limit)

/** Words of anybody else: the same, and nothing in them is Markdown. */
export const told = (text: string, limit: number): string => marked(inert(line(text, limit)), limit)

/** A path or command as it is typed, between backticks that nothing in it can close. */
export function code(text: string, limit: number): string {
  const typed = cut(neutral(line(text, limit)).replace(/`{3,}/g, "'"), limit)
  const longest = Math.max(0, ...[...typed.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  const edge = longest > 0 || typed === "" ? " " : ""
  return fence + edge + typed + edge + fence
}

/** Each line behind `> `. */
export const blockQuote = (text: string): string =>
  neutral(text)
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n")

/** A session's name for an attribute of the frame: what no such name holds is replaced. */
export const name = (text: string, limit: number): string => cut(text.replace(/[^\w./-]/g, "_"), limit, "")

/** A word such as the host's names of a state, else `otherwise`. */
export const word = (text: string, otherwise: string): string =>
  /^[a-z][a-z_]{0,19}$/.test(text) ? text : otherwise

/** A time as the host writes it, else nothing. */
export const time = (text: string | undefined): string | undefined =>
  text !== undefined && /^\d{4}-\d\d-\d\dT[\d:.]{5,16}(?:Z|[+-]\d\d:?\d\d)?$/.test(text) ? text : undefined

/** Quotation marks within are escaped, and so are backslashes before one: no text can end its quotation. */
function marked(words: string, limit: number): string {
  const escaped = words.replace(
    /(\\*)("|$)/g,
    (_all, slashes: string, mark: string) => slashes + slashes + (mark === "" ? "" : '\\"'),
  )
  return `"${cut(escaped, limit)}"`
}

/** A command in so many characters: of a longer one what was run goes before where. */
export const commandIn = (command: string, limit: number): string =>
  code(command.length > limit ? withoutFolder(command) : command, limit)

/** Of an output longer than that the line that names the error, where one does: it mostly stands behind what went well. */
export const errorIn = (output: string, limit: number): string =>
  told(output.length <= limit ? output : (errorLinesIn(output, true)[0] ?? output), limit)
