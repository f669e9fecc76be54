/**
 * Filters secrets before anything is archived. A filler of the same length replaces them, so offsets and JSON stay
 * valid. Pure.
 */
import { type Limits, searchWithin } from "./clock.ts"
import { findSecrets } from "./find.ts"
import type { Span } from "./lines.ts"
import type { FindOwn } from "./patterns.ts"
import { filling, privateTags, RULES_NUMBER, sweeping } from "./rules.ts"
import type { AddSpan } from "./seek.ts"
import { type Seek, seekEach } from "./seek.ts"

export interface SecretSettings {
  readonly enabled: boolean
  /** The user's own regular expressions. */
  readonly patterns: readonly string[]
  /** Finds what they match. Made by config/own-patterns.ts, because hooks without patterns do not load it. */
  readonly findOwn?: FindOwn | undefined
}

export const FILTERED: SecretSettings = { enabled: true, patterns: [] }

export interface FilteredLines {
  /** As long as the original, or as what of it was searched in time; the same object when nothing was filled. */
  readonly content: Uint8Array
  /** How many records after these a `<private>` in them still hides. */
  readonly hidden: number
  /** The version of the rules that were applied; 0: none. */
  readonly rules: number
  /** Places of what may be a password, key or token by itself, and may occur elsewhere. */
  readonly values: readonly Span[]
}

/** About how many bytes of lines are searched at a time: what is done in time is kept. */
const STEP = 64 << 10
/** ms of CPU time for one step, and again for each further megabyte of a long line: at least ten times the usual. */
const PATIENT: Limits = { until: undefined, cpu: 2000 }

/** For callers that somebody waits for, until this moment in ms of performance.now(). */
export const hurried = (until: number): Limits => ({ until, cpu: 100 })

/**
 * @param hidden the `hidden` returned for the preceding lines
 * @param limits for each step. With `until`, the result may end before the first line that takes too long; without it,
 * such a line is hidden
 */
export function filterLines(
  content: Uint8Array,
  hidden: number,
  settings: SecretSettings,
  { until, cpu }: Limits = PATIENT,
): FilteredLines {
  if (!settings.enabled) return { content, hidden: 0, rules: 0, values: [] }
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  const text = bytes.toString("latin1")
  const seek = until === undefined ? sweeping().sweep : seekEach
  const spans: Span[] = []
  const values: Span[] = []
  let left = hidden
  let done = 0
  /** Up to here, each line is searched by itself. */
  let careful = 0
  while (done < text.length) {
    const from = done
    const to = endOfStep(text, from, from < careful ? 1 : STEP)
    const line = text.slice(from, to)
    const limits = { until, cpu: cpu * (1 + (to - from) / (1 << 20)) }
    const found = searchWithin(limits, () => spansIn(bytes.subarray(from, to), line, left, settings, seek))
    if (found === undefined && endOfStep(text, from, 1) < to) {
      careful = to
      continue
    }
    if (found === undefined && until !== undefined) break
    const part = found ?? hiddenLine(line, left)
    for (const { start, end } of part.spans) spans.push({ start: from + start, end: from + end })
    for (const { start, end } of part.values) values.push({ start: from + start, end: from + end })
    left = part.left
    done = to
  }
  const searched = done < text.length ? content.subarray(0, done) : content
  return {
    content: spans.length === 0 ? searched : filling().fill(searched, spans),
    hidden: left,
    rules: RULES_NUMBER,
    values,
  }
}

/** The end of whole lines of about `size` bytes in all, or of one longer line. */
function endOfStep(text: string, start: number, size: number): number {
  if (text.length - start <= size) return text.length
  const last = text.lastIndexOf("\n", start + size - 1)
  if (last >= start) return last + 1
  const newline = text.indexOf("\n", start + size)
  return newline < 0 ? text.length : newline + 1
}

interface Searched {
  readonly spans: readonly Span[]
  readonly values: readonly Span[]
  /** How many records after these a `<private>` still hides. */
  readonly left: number
}

function spansIn(
  bytes: Buffer,
  text: string,
  hidden: number,
  settings: SecretSettings,
  seek: Seek,
): Searched {
  const spans: Span[] = []
  const values: Span[] = []
  const add = (start: number, end: number): void => void spans.push({ start, end })
  findSecrets(bytes, text, "lines", seek, (start, end, isValue) => {
    add(start, end)
    if (isValue) values.push({ start, end })
  })
  const first = spans.length
  const left = hidden > 0 || mentionsPrivate(bytes) ? privateTags().findPrivate(text, hidden, add) : 0
  const hides = spans.slice(first)
  if (settings.patterns.length > 0) findOwn(text, settings, add)
  return {
    spans: spans.length === 0 ? spans : filling().withinStrings(text, filling().merged(spans)),
    // Asked first, because the engine compiles `filter` when it is first called.
    values: hides.length === 0 ? values : values.filter((value) => !hides.some((one) => meet(one, value))),
    left,
  }
}

/** Whether the tag occurs, as people write it or as JSON may encode it. */
const mentionsPrivate = (bytes: Buffer): boolean =>
  bytes.indexOf("<private>", 0, "latin1") >= 0 ||
  bytes.indexOf("<PRIVATE>", 0, "latin1") >= 0 ||
  bytes.indexOf("u003cprivate", 0, "latin1") >= 0

const meet = (one: Span, other: Span): boolean => one.start < other.end && one.end > other.start

function findOwn(text: string, { findOwn: find }: SecretSettings, add: AddSpan): void {
  // Better nothing than what the user wants kept out.
  if (find === undefined) throw new Error("the user's patterns are not loaded")
  find(text, add)
}

/** What is said in a line that cannot be searched in bounded time: better nothing of it than its secrets. */
function hiddenLine(text: string, hidden: number): Searched {
  const left = privateTags().findPrivate(text, hidden, () => {})
  return { spans: filling().wholeLine(text), values: [], left }
}

/** Matches what every secret has: a long word, an operator, or a word for secrets. Most short prompts do not. */
const ANY =
  /[\w.~+/-]{16}|[=:<>%@]|-[apkK]|pass|pw|key|token|secret|kenn|auth|salt|seed|phrase|mnemonic|_pin|[\x80-\uffff]/i

/** ms of CPU time for a text, which is short. */
const FOR_TEXT = 250

/** For text outside transcripts. One that cannot be searched in time is filled. */
export function filterText(text: string, settings: SecretSettings): string {
  if (!settings.enabled || (settings.patterns.length === 0 && !ANY.test(text))) return text
  // A token is recognised by the character before it.
  const bytes = Buffer.from(`\n${text}`)
  const plain = bytes.toString("latin1")
  const spans: Span[] = []
  const add = (start: number, end: number): void => void spans.push({ start, end })
  const isDone = searchWithin({ until: undefined, cpu: FOR_TEXT }, () => {
    findSecrets(bytes, plain, "text", seekEach, add)
    if (mentionsPrivate(bytes)) privateTags().findPrivateText(plain, add)
    if (settings.patterns.length > 0) findOwn(plain, settings, add)
    return true
  })
  if (isDone === undefined) add(1, bytes.length)
  if (spans.length === 0) return text
  const { fill, merged } = filling()
  return Buffer.from(fill(bytes, merged(spans))).toString("utf8", 1)
}
