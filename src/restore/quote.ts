/** How text from the archive appears in what we say: always as a quotation, never as a line of its own. Pure. */

import { cut, oneLine } from "../base/text.ts"
import { errorLinesIn } from "../record/error-lines.ts"
import { withoutNamedSentences, withoutSentences } from "../record/sentence-names.ts"
import type { Verdict } from "../views/labels.ts"
import { inert, neutral, visible } from "./neutral.ts"

/** How many characters are examined per character shown; the rest would be cut off anyway. */
const LOOKED_AT = 20

/** After white space is collapsed, how many of them are searched for tags, which need some room after the bracket. */
const SEARCHED = 8

/** White space is collapsed before tags are searched, so that it cannot separate a bracket from its name. */
const line = (text: string, limit: number): string =>
  oneLine(visible(text.slice(0, limit * LOOKED_AT))).slice(0, limit * SEARCHED)

/**
 * For words of the human or the model: on one line in quotation marks, with at most `limit` characters between them.
 */
export const quoteSpoken = (text: string, limit: number): string => marked(neutral(line(text, limit)), limit)

/** For anyone else's words: likewise, and nothing in them works as Markdown. */
export const quoteInert = (text: string, limit: number): string => marked(inert(line(text, limit)), limit)

/** A path or command as typed, between backticks that nothing in it can close. */
export function code(text: string, limit: number): string {
  const typed = cut(neutral(line(text, limit)).replace(/`{3,}/g, "'"), limit)
  const longest = Math.max(0, ...[...typed.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = "`".repeat(longest + 1)
  const edge = longest > 0 || typed === "" ? " " : ""
  return fence + edge + typed + edge + fence
}

export const blockQuote = (text: string): string =>
  neutral(text)
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n")

/** A session's name for an attribute of the tag around a text. Characters that such a name never has are replaced. */
export const name = (text: string, limit: number): string => cut(text.replace(/[^\w./-]/g, "_"), limit, "")

/** A word such as Claude Code uses for a state; anything else becomes `otherwise`. */
export const word = (text: string, otherwise: string): string =>
  /^[a-z][a-z_]{0,19}$/.test(text) ? text : otherwise

/** A time as Claude Code writes it; undefined for anything else. */
export const time = (text: string | undefined): string | undefined =>
  text !== undefined && /^\d{4}-\d\d-\d\dT[\d:.]{5,16}(?:Z|[+-]\d\d:?\d\d)?$/.test(text) ? text : undefined

/** Escapes quotation marks and the backslashes before them, so that no text can end its quotation. */
function marked(words: string, limit: number): string {
  const escaped = words.replace(
    /(\\*)("|$)/g,
    (_all, slashes: string, mark: string) => slashes + slashes + (mark === "" ? "" : '\\"'),
  )
  return `"${cut(escaped, limit)}"`
}

/**
 * A command in at most `limit` characters, without names of files that read like sentences. In a longer one, what was run
 * matters more than where.
 */
export function commandIn(command: string, limit: number): string {
  const told = withoutSentences(command)
  return code(told.length > limit ? withoutFolder(told) : told, limit)
}

/**
 * An output in at most `limit` characters. From a longer one, the line that names the error if there is one: it usually
 * comes after what went well.
 */
export function errorIn(output: string, limit: number): string {
  const line = output.length <= limit ? output : (errorLinesIn(output, true)[0] ?? output)
  return quoteInert(withoutNamedSentences(line), limit)
}

/** That something decided does not hold, whose word that is, and why in at most `limit` characters. */
export function verdictIn({ verdict, by, note, judged, byUser }: Verdict, limit: number): string {
  const day = time(judged ?? undefined)?.slice(0, 10)
  const when = day === undefined ? "" : ` on ${day}`
  const instead = by === null ? "" : `, ${by} holds instead`
  const why = note === null ? "" : `: ${quoteSpoken(note, limit)}`
  return `${byUser ? `${verdict} by the user` : `marked ${verdict}`}${when}${instead}${why}`
}

/* Separates what a command runs from where it runs and which file it writes to. Pure. */

/** `cd folder && …`. After the folder there may be just a space, which stands for a line break in the script. */
const INTO_FOLDER = /^cd ("[^"]*"|'[^']*'|[^\s;&|<>"']+)\s*(?:&&|;)?\s+(?=[^\s;&|<>])/
/** `2>&1` or `> file` at the end. */
const REDIRECTIONS = /(?:\s+(?:\d|&)?>{1,2}\s*(?:&\d|[^\s;&|<>()]+))+$/

interface Typed {
  readonly folder: string | undefined
  readonly command: string
}

export function typed(script: string): Typed {
  const folder = INTO_FOLDER.exec(script)?.[1]
  return { folder, command: script.replace(INTO_FOLDER, "").replace(REDIRECTIONS, "").trim() }
}

/** Shortens a long command: what was run matters more than where. */
const withoutFolder = (script: string): string => script.replace(INTO_FOLDER, "… ")

/** Whether the later script runs the same command again. It need not repeat `cd`, since a shell stays in its folder. */
export const runsAgain = (earlier: Typed, later: Typed): boolean =>
  earlier.command === later.command && (later.folder === undefined || later.folder === earlier.folder)
