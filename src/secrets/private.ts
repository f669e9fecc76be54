/**
 * Hides what a person puts between `<private>` and `</private>`. Loaded only where a tag stands: see rules.ts. Pure.
 *
 * A tag that is not closed in its record hides the rest of that record and the following records up to the closing tag,
 * but at most `RECORDS` of them: someone who forgets the closing tag must not lose the rest of the session. A tag that
 * is only mentioned, in backticks or quotes or in a tool's output, does not reach beyond its record, and one in the name
 * of a tool, a model or a branch not beyond that name. Shaders declare variables as `var<private> name : type`, which is
 * no tag.
 */
import type { JsonString } from "./lines.ts"
import { saidIn } from "./lines.ts"
import type { AddSpan } from "./seek.ts"

/** Maximum number of records hidden after the one with the tag. */
const RECORDS = 8

const anyTag = (): RegExp => /(?:<|\\u003c)(\/?)private(?:>|\\u003e)/gi

/**
 * @param open how many more records to hide, from the lines before
 * @returns the same for the lines after
 */
export function findPrivate(text: string, open: number, add: AddSpan): number {
  const tags = new Tags(text)
  let left = open
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start)
    const end = newline < 0 ? text.length : newline
    if (end > start) left = inLine(text, start, end, left, tags, add)
    start = end + 1
  }
  return left
}

/** For text outside transcripts: an unclosed tag hides everything up to the end of the text. */
export function findPrivateText(text: string, add: AddSpan): void {
  inString(text, { start: 0, end: text.length, isKey: false }, false, new Tags(text), add)
}

interface Tag {
  readonly start: number
  readonly end: number
}

/** All tags of a text, queried from beginning to end. A text may consist of tags, or of strings without any. */
class Tags {
  readonly #opening = { tags: [] as Tag[], next: 0 }
  readonly #closing = { tags: [] as Tag[], next: 0 }

  constructor(text: string) {
    for (const { 0: tag, 1: slash, index } of text.matchAll(anyTag())) {
      const kind = slash === "" ? this.#opening : this.#closing
      kind.tags.push({ start: index, end: index + tag.length })
    }
  }

  /** The first tag that begins at or after `at` and before `end`. For each kind, `at` must never decrease. */
  opening = (at: number, end: number): Tag | undefined => following(this.#opening, at, end)
  closing = (at: number, end: number): Tag | undefined => following(this.#closing, at, end)
}

function following(
  kind: { readonly tags: readonly Tag[]; next: number },
  at: number,
  end: number,
): Tag | undefined {
  while (kind.next < kind.tags.length && kind.tags[kind.next]!.start < at) kind.next++
  const tag = kind.tags[kind.next]
  return tag !== undefined && tag.start < end ? tag : undefined
}

function inLine(text: string, start: number, end: number, open: number, tags: Tags, add: AddSpan): number {
  let hidden = open > 0
  let closed = false
  for (const one of saidIn(text, start, end, true)) {
    if (one.isName) {
      // A name is no part of what is said before and after it.
      inString(text, one, false, tags, add)
      continue
    }
    hidden = inString(text, one, hidden, tags, add)
    if (!hidden) closed = true
  }
  if (!hidden) return 0
  if (open > 0 && !closed) return open - 1
  return /"tool_result"|"toolUseResult"/.test(text.slice(start, end)) ? 0 : RECORDS
}

/** @returns whether a tag is still open at the end */
function inString(
  text: string,
  { start, end }: JsonString,
  hidden: boolean,
  tags: Tags,
  add: AddSpan,
): boolean {
  let at = start
  let inside = hidden
  while (at < end) {
    if (inside) {
      const close = tags.closing(at, end)
      add(at, close?.start ?? end)
      if (close === undefined) return true
      at = close.end
      inside = false
      continue
    }
    const open = tags.opening(at, end)
    if (open === undefined) return false
    at = open.end
    if (isDeclaration(text, open.start, open.end)) continue
    inside = tags.closing(at, end) !== undefined || !isMention(text, open.start, open.end)
  }
  return inside
}

/** In quotes, also with the `var` of a shader. */
const isMention = (text: string, start: number, end: number): boolean =>
  /[`'"\\](?:var)?$/.test(text.slice(Math.max(0, start - 4), start)) && /[`'"\\]/.test(text[end] ?? "")

/** A person's tag stands behind a `var`, too, but no name with a colon or a value follows it. */
const isDeclaration = (text: string, start: number, end: number): boolean =>
  /(?:^|\W|\\[nrt])var$/.test(text.slice(Math.max(0, start - 5), start)) &&
  /^ +[A-Za-z_]\w{0,99} *[:=]/.test(text.slice(end, end + 128))
