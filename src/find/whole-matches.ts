/**
 * Names of several parts as they were typed: ids, versions, codes, paths. The index finds them by their parts, so a
 * message that has a part of one may not be said to have it all. Pure.
 */
import { partsOfLine } from "../agents/agents.ts"
import { mayBeCut, wholeTarget } from "../agents/tool-kinds.ts"
import { once } from "../base/once.ts"
import { oneLine } from "../base/text.ts"
import { namesIn, stem } from "../base/words.ts"
import { objectOf, stringOf } from "../record/json.ts"
import type { Part } from "../record/types.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import type { CallPlace, ShortCall } from "../views/queries/calls.ts"
import { placesOf } from "../views/queries/messages.ts"
import { lineInVault } from "./message-text.ts"
import { isAscii, type Term } from "./parse-query.ts"

/** One that was typed as a word of a query. */
export interface WholeName {
  readonly typed: string
  /** Words of its parts. */
  readonly words: readonly string[]
  /** The word that its parts are together, if nothing else than a point or a hyphen joins them. */
  readonly joined: string | undefined
  readonly isIn: (text: string) => boolean
}

/** What people put around a name. */
const EDGES = /^[^\w./@#~-]+|[^\w]+$/g
/** Digits tell an id from words with a hyphen or a slash between them; the other signs make names of something else. */
const IS_NAME = /\d|[a-z][A-Z]|[_:@\\]|\w\.\w|\/.*\/|^[~.]?\//
/** Filters, and what only looks like a name: "e.g". */
const IS_NONE = /^(?:role|tool):|^[a-z](?:\.[a-z])+$/i
const MOST = 4

/**
 * @param text of a query
 * @returns the names in it that have several parts; none of words with hyphens ("re-run")
 */
export function wholeNamesIn(text: string): WholeName[] {
  const unquoted = text.replace(/"[^"]*"/g, " ")
  const found = new Map<string, WholeName>()
  for (const token of unquoted.split(/\s+/)) {
    const typed = token.replace(EDGES, "")
    if (found.size >= MOST || found.has(typed) || !isAscii(typed)) continue
    if (!IS_NAME.test(typed) || IS_NONE.test(typed)) continue
    const names = namesIn(typed)
    const words = names.flatMap((name) => (name.words.length > 1 ? name.words.slice(0, -1) : name.words))
    if (words.length > 1 && !token.endsWith("*")) {
      const joined = names.length === 1 ? names[0]!.words.at(-1) : undefined
      found.set(typed, { typed, words, joined, isIn: finder(typed) })
    }
  }
  return [...found.values()]
}

/** Looks for a name as a whole. What separates two numbers counts; elsewhere it is a matter of style: `utf8`, `utf-8`. */
function finder(typed: string): (text: string) => boolean {
  const pattern = once(() => {
    const pieces = typed.match(/[A-Za-z]+|\d+|[^A-Za-z\d]+/g) ?? []
    const source = pieces.map((piece, n) => {
      if (/^[A-Za-z]+$/.test(piece)) return piece.replace(/(?<=[a-z])(?=[A-Z])/g, "[._-]?")
      if (/^\d+$/.test(piece)) return piece
      const isWithin = n > 0 && n < pieces.length - 1
      if (isWithin && /^[._-]$/.test(piece))
        return isNumber(pieces[n - 1]) && isNumber(pieces[n + 1]) ? "[._-]" : "[._-]?"
      return /^[/\\]+$/.test(piece) ? "[/\\\\]+" : piece.replace(/[^\w\s]/g, "\\$&")
    })
    // `1.2.3` is in `v1.2.3`, but neither in `1.2.31` nor in `1.2.3.4`.
    const name = source.join("").replace(/^v(?=\d)/i, "")
    return new RegExp(`(?<![A-Za-z\\d]|\\d\\.(?=\\d))(?:v(?=\\d))?${name}(?![A-Za-z\\d]|\\.\\d)`, "i")
  })
  return (text) => pattern().test(text)
}

const isNumber = (piece: string | undefined): boolean => piece !== undefined && /^\d+$/.test(piece)

/**
 * What of a term may be said to be in a text: all that was typed, or the part of it that the term is.
 *
 * @param has whether the text has this word; of a name without digits, the joined parts are the name
 */
export function wordToldOf({ typed, word }: Term, text: string, has: (word: string) => boolean): string {
  const [name, ...others] = isAscii(typed) ? namesIn(typed) : []
  if (name === undefined || others.length > 0 || name.words.length < 2) return typed
  if (!/\d/.test(typed) && has(name.words.at(-1)!)) return typed
  if (finder(typed)(text)) return typed
  return typed.match(PART)?.find((part) => stem(part.toLowerCase()) === word) ?? word
}

/** Parts of a name, as `util/words` parts them. */
const PART = /[A-Z]{2,}\d*(?![a-z])|[A-Z]?[a-z\d]+|[A-Z]/g

/* Tool calls in full. The views keep one line of a call and the beginning of its error; the vault has everything. */

export class WholeCalls {
  readonly #db: Database
  readonly #dataHome: string
  readonly #readers: CopyReaders

  constructor(db: Database, dataHome: string, readers: CopyReaders) {
    this.#db = db
    this.#dataHome = dataHome
    this.#readers = readers
  }

  /** Command, path or pattern; undefined when the vault no longer holds it. */
  target(call: CallPlace): string | undefined {
    const use = this.#useOf(call)
    return use && wholeTarget(use.name, use.input)
  }

  /** A shell's command and what the model wrote beside it; of what the vault no longer holds, what the views keep. */
  script(call: CallPlace & Pick<ShortCall, "target">): { script: string; description: string } {
    const use = this.#useOf(call)
    const script = (use && wholeTarget(use.name, use.input)) ?? call.target
    return { script, description: stringOf(objectOf(use?.input)["description"]) ?? "" }
  }

  /** What the tool was given; undefined when the vault no longer holds it. */
  input(call: CallPlace): unknown {
    return this.#useOf(call)?.input
  }

  /** What calls of the same tool share when they ask for the same: one line, of any length. */
  key(call: ShortCall): string {
    const use = mayBeCut(call.target, call.length ?? 0) ? this.#useOf(call) : undefined
    return use === undefined
      ? call.target
      : oneLine(wholeTarget(use.name, use.input) ?? JSON.stringify(use.input))
  }

  /** What the tool answered; undefined when the vault no longer holds it. */
  output({ id, result }: CallPlace): string | undefined {
    for (const part of this.#partsOf(result))
      if (part.kind === "toolResult" && part.id === id) return part.text
    return undefined
  }

  #useOf({ id, use }: CallPlace) {
    for (const part of this.#partsOf(use)) if (part.kind === "toolUse" && part.id === id) return part
    return undefined
  }

  #partsOf(message: number | null): readonly Part[] {
    const [place] = message === null ? [] : placesOf(this.#db, [message])
    const line = place && lineInVault(this.#dataHome, this.#readers, place)
    return line === undefined ? [] : partsOfLine(line).parts
  }
}
