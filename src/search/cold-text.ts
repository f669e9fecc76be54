/**
 * Decides what matches in a search of the vault. It looks at every string of a line, however long and whatever the host
 * uses it for, since the point is to find what the index leaves out. Pure.
 */
import { objectOf } from "../transcript/json.ts"
import { parseJson } from "../util/json-files.ts"
import { wordSet } from "../util/words.ts"
import { fulfils, hasWord, type Subject } from "./fts-expression.ts"
import { folded, isAscii, type Node, partsAsked, type Query, type Term } from "./parse-query.ts"
import { lineMayFulfil } from "./raw-line.ts"

/** Fields that identify or date a line, at any depth. Nobody said their values. */
const NAMES = new Set(
  (
    "type subtype role model id uuid parentUuid logicalParentUuid sessionId session_id agentId requestId promptId cwd " +
    "version gitBranch timestamp userType stop_reason stop_sequence service_tier signature tool_use_id " +
    "sourceToolUseID sourceToolAssistantUUID media_type messageId slug permissionMode entrypoint"
  ).split(" "),
)
/** A string with no white space in its first 20,000 UTF-16 units is an image or the like. */
const DATA = 20_000

/** Every string in a line, the message's own first. */
export function wholeText(line: string): string {
  const found: string[] = []
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === "string") {
      if (value.length < DATA || /\s/.test(value.slice(0, DATA))) found.push(value)
    } else if (Array.isArray(value)) {
      for (const item of value) visit(item, depth + 1)
    } else if (typeof value === "object" && value !== null && depth < 32) {
      for (const [name, inner] of Object.entries(value)) if (!NAMES.has(name)) visit(inner, depth + 1)
    }
  }
  const value = parseJson(line)
  // Not JSON: search it as plain text.
  if (value === undefined) return line
  const { message, ...others } = objectOf(value)
  visit(message, 0)
  visit(others, 0)
  return [...new Set(found)].join("\n")
}

export interface Sieve {
  /** Whether any of these lines may match. Looks at the bytes before they are split into lines. */
  mayHold(content: string): boolean
  mayDo(line: string): boolean
  does(subject: Subject): boolean
}

/**
 * A query without operators is matched by a text that contains all of its words, or the query verbatim.
 *
 * @returns undefined for a query that asks for nothing
 */
export function sieveFor(query: Query): Sieve | undefined {
  const { must } = query
  const said = folded(query.text)
  const asked = partsAsked(query)
  if (must === undefined && said === "") return undefined
  // A word typed with accents is sought without them, and the line may have them.
  const needles = !isAscii(query.text) ? [] : must === undefined ? asked.flatMap(needleOf) : needlesOf(must)
  const mayFulfil = must === undefined ? () => true : lineMayFulfil(must)
  const holds = (text: string): boolean => needles.every((needle) => needle.test(text))
  return {
    mayHold: holds,
    mayDo: (line) => holds(line) && mayFulfil(line),
    does(subject) {
      if (must !== undefined) return fulfils(must, subject)
      if (folded(subject.text).includes(said)) return true
      if (asked.length === 0) return false
      const own = wordSet(subject.text)
      return asked.every(({ word, isPrefix }) => hasWord(own, word, isPrefix))
    },
  }
}

/** Patterns that occur in every text that fulfils `node`, in any encoding that keeps ASCII. */
function needlesOf(node: Node): RegExp[] {
  switch (node.kind) {
    case "words":
    case "phrase":
      return node.words
        .filter((word) => !isWholeName(word, node.words))
        .flatMap((word) => needleOf({ word, isPrefix: false }))
    case "prefix":
      return needleOf({ word: node.prefix, isPrefix: true })
    case "and":
      return node.nodes.flatMap(needlesOf)
    default:
      return []
  }
}

/** Whether this may be a compound name in one word. Its parts need not stand side by side in the text. */
const isWholeName = (word: string, words: readonly string[]): boolean =>
  words.some((part) => part !== word && word.startsWith(part.slice(0, -1)))

/** The stemmer may have turned a final `y` into `i`. */
function needleOf({ word, isPrefix }: Pick<Term, "word" | "isPrefix">): RegExp[] {
  if (!/^[a-z0-9]+$/.test(word)) return []
  return [new RegExp(isPrefix ? word : word.replace(/i$/, "[iy]"), "i")]
}
