/** The terminal on which something is shown to people. */
import { usageError } from "../base/errors.ts"
import { DAY, HOUR, localTimeOf, MINUTE, MOMENTS, momentOf, twoDigits } from "../base/local-time.ts"
import { shortLines } from "../base/pages.ts"
import { count } from "../base/text.ts"
import { stringArg } from "./args.ts"
import type { Output } from "./command.ts"
import { createStyle, type Style, safe } from "./style.ts"

/** What rendering needs to know. */
export interface Screen {
  readonly columns: number
  readonly style: Style
  /** ms since the epoch. */
  readonly now: number
}

export const screenOf = ({ color, columns }: Output, now = Date.now()): Screen => ({
  columns,
  style: createStyle(color),
  now,
})

/* Text broken at words, as wide as a terminal shows it. Pure. */

/** UTF-16 units: breaking longer ones takes time, and they are data. */
const LONGEST = 20_000
/** Columns of text, however deep it is indented. */
const LEAST = 10
/** What a line begins with: blanks, and the mark of a list, under which its text hangs. */
const LEAD = /^\s*(?:(?:[-*•+]|\d{1,3}[.)]) )?/

/** Lines of at most `columns`; what continues a line is indented like its text. Keeps colours. */
export function wrapped(text: string, columns: number): string[] {
  return shortLines(text, LONGEST).flatMap((whole) => {
    if (whole.length <= columns && Bun.stringWidth(whole) <= columns) return [whole]
    // The indent comes before colours, so that it is seen.
    const line = whole.replace(/^((?:\x1b\[[\d;]*m)+)(\s+)/, "$2$1")
    const [lead] = LEAD.exec(line)!
    const indent = lead.replace(/\S/g, " ")
    const width = Math.max(LEAST, columns - Bun.stringWidth(lead))
    const text = line
      .slice(lead.length)
      .replace(/( ?)(\S+)/g, (all, space: string, word: string, at: number) => {
        if (word.length <= width || !SEPARATED.test(word) || Bun.stringWidth(word) <= width) return all
        return (at === 0 ? space : "\n") + broken(word, width)
      })
    const pieces = Bun.wrapAnsi(text, width, { hard: true }).split("\n")
    return pieces.map((piece, n) => (n === 0 ? lead : indent) + piece)
  })
}

/** What has parts that a line can end with. */
const SEPARATED = /[^\x1b][/\\._:=,&?-][^\x1b]/
/** What a line may end with, colours and links included: the parts of a path, or else of a name. */
const [FOLDERS, PARTS] = [String.raw`(?<=/|(?<!\x1b)\\)`, String.raw`(?<=[_:=,&?-])|(?<=\.)(?=\w{5})`].map(
  (end) => new RegExp(String.raw`(?:\x1b\[[\d;]*m|\x1b\]8;;[^\x1b]*\x1b\\|[^\x1b])+?(?:${end}|$)`, "g"),
) as [RegExp, RegExp]

/** A word that is longer than a line on lines that end where a part of it does. */
function broken(word: string, width: number): string {
  const parts = (text: string, ends: RegExp): string[] => text.match(ends) ?? []
  const all = parts(word, FOLDERS).flatMap((part) =>
    Bun.stringWidth(part) > width ? parts(part, PARTS) : [part],
  )
  let text = ""
  let used = 0
  for (const part of all) {
    const next = Bun.stringWidth(part)
    if (used > 0 && used + next > width) {
      text += "\n"
      used = 0
    }
    text += part
    used += next
  }
  return text
}

/** The same with all lines indented. */
export const wrappedIn = (indent: string, text: string, columns: number): string[] =>
  wrapped(text, Math.max(LEAST, columns - indent.length)).map((line) => indent + line)

/* Markdown as a terminal shows it. What its text says cannot steer the terminal. Pure. */

interface MarkdownLook {
  readonly columns: number
  readonly color: boolean
  readonly links: boolean
}

/** Characters: beyond these it is not laid out, since that takes the square of a line's length (Bun 1.4.5). */
const LONGEST_MARKDOWN = 200_000
const LONGEST_PART = 10_000

/** Colours, and links with their address: all that the renderer writes of its own. */
const OWN = /\x1b\[[\d;]*m|\x1b\]8;;([^\x1b]*)\x1b\\/g
const WEB = /^(?:https?|mailto):/

/** @param text as it was archived */
export function markdownLines(text: string, { columns, color, links }: MarkdownLook): string[] {
  const plain = safe(text).trimEnd()
  const isLong =
    plain.length > LONGEST_MARKDOWN || plain.split("\n").some(({ length }) => length > LONGEST_PART)
  if (isLong) return wrapped(plain, columns)
  const drawn = Bun.markdown.ansi(plain, { columns, colors: color, hyperlinks: links })
  return harmless(drawn.trimEnd())
    .split("\n")
    .flatMap((line) => wrapped(line, columns))
}

/** Entities are decoded after `safe` has looked, and links may lead anywhere. */
function harmless(drawn: string): string {
  let text = ""
  let done = 0
  for (const { 0: sequence, 1: url, index } of drawn.matchAll(OWN)) {
    text += safe(drawn.slice(done, index)) + (url === undefined ? sequence : opened(url))
    done = index + sequence.length
  }
  return text + safe(drawn.slice(done))
}

/** The beginning of a link to the web, or the end of any; the text of other links stays without one. */
const opened = (url: string): string => {
  const encoded = url.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent)
  return `\x1b]8;;${WEB.test(url) ? encoded : ""}\x1b\\`
}

/* Formats times for people, and parses times written by people. Pure. */

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")

const momentIn = (time: string | null): number => (time === null ? Number.NaN : Date.parse(time))

/** `3 h ago`, `yesterday 14:05`, `3 days ago`; from a week on, and in the future, the date. */
export function ago(time: string | null, now: number): string {
  const then = momentIn(time)
  if (Number.isNaN(then)) return "unknown"
  const age = now - then
  if (age < 0) return dateAt(then, now)
  if (age < MINUTE) return "just now"
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min ago`
  const days = dayOf(now) - dayOf(then)
  if (days === 0) return `${Math.floor(age / HOUR)} h ago`
  if (days === 1) return `yesterday ${hourAt(then)}`
  return days < 7 ? `${count(days, "day")} ago` : dateAt(then, now)
}

/** `12 Nov 14:05`, with the year if it is another one than now. */
export const dated = (time: string | null, now: number): string => {
  const ms = momentIn(time)
  return Number.isNaN(ms) ? "unknown" : dateAt(ms, now)
}

/** From when to when: `12 Nov 14:05 to 14:20`, or both dates if it went on for more than a day. */
export function period(from: string | null, to: string | null, now: number): string {
  const [start, end] = [momentIn(from), momentIn(to)]
  if (Number.isNaN(end)) return dated(from, now)
  return `${dated(from, now)} to ${dayOf(start) === dayOf(end) ? hourAt(end) : dateAt(end, now)}`
}

function dateAt(ms: number, now: number): string {
  const { year, month, day } = localTimeOf(ms)
  const which = year === localTimeOf(now).year ? "" : ` ${year}`
  return `${day} ${MONTHS[month - 1]}${which} ${hourAt(ms)}`
}

/** `14:05`, local time. */
export function hourAt(ms: number): string {
  const { hour, minute } = localTimeOf(ms)
  return `${twoDigits(hour)}:${twoDigits(minute)}`
}

/** Number of the local calendar day: of two that follow each other, the second has one more. */
function dayOf(ms: number): number {
  const { year, month, day } = localTimeOf(ms)
  return Date.UTC(year, month - 1, day) / DAY
}

/**
 * The time given by an option, as ISO 8601 in UTC.
 *
 * @param now ms since the epoch
 * @throws CtxError exit 64
 */
export function timeArg(
  args: Readonly<Record<string, unknown>>,
  name: string,
  now: number,
): string | undefined {
  const text = stringArg(args, name)?.trim()
  if (text === undefined) return undefined
  const moment = momentOf(text, now)
  if (moment === undefined) {
    throw usageError(`--${name} needs a date or an age, not ${JSON.stringify(text)}`, MOMENTS)
  }
  return moment
}

const UNITS: Readonly<Record<string, number>> = { h: HOUR, d: DAY, w: 7 * DAY, y: 365 * DAY }

/** An age such as `90d` in ms; undefined for anything else. */
export function ageOf(word: string): number | undefined {
  const [, number, unit] = /^(\d{1,6})([hdwy])$/.exec(word) ?? []
  return number === undefined ? undefined : Number(number) * UNITS[unit!]!
}

/* Text broken into lines between words. Pure. */

/** Splits a text into lines of at most `width` columns; a longer word stays whole. */
export function foldedLines(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (line !== "" && Bun.stringWidth(longer) > width) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return [...lines, line]
}
