/**
 * What a search of the vault itself looks for, and in what: every string of a line, however long and whatever it is to
 * the host, since what the index leaves out is the reason to look here. Pure.
 */
import { objectOf } from "../transcript/json.ts"
import { wordSet } from "../util/words.ts"
import { fulfils, type Subject } from "./expression.ts"
import { folded, type Node, partsAsked, type Query, type Term } from "./query.ts"
import { lineMayFulfil } from "./raw-line.ts"

/** Fields that name and date a line, in any of its objects: nobody says them. */
const NAMES = new Set(
  (
    "type subtype role model id uuid parentUuid logicalParentUuid sessionId session_id agentId requestId promptId cwd " +
    "version gitBranch timestamp userType stop_reason stop_sequence service_tier signature tool_use_id " +
    "sourceToolUseID sourceToolAssistantUUID media_type messageId slug permissionMode entrypoint"
  ).split(" "),
)
/** UTF-16 units without a space, from which on a string is an image or the like. */
const DATA = 20_000

/** All that a line says, its parts first. */
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
  try {
    const { message, ...others } = objectOf(JSON.parse(line))
    visit(message, 0)
    visit(others, 0)
  } catch {
    // No JSON: it is text, at least.
    return line
  }
  return [...new Set(found)].join("\n")
}

export interface Sieve {
  /** Whether any line of these may do: a look at the bytes, before they are parted into lines. */
  mayHold(content: string): boolean
  /** Whether this line may do. */
  mayDo(line: string): boolean
  /** Whether it does. */
  does(subject: Subject): boolean
}

/**
 * Without operators a text does when it has all of the query's words, or says the query as it stands.
 *
 * @returns undefined for a query that asks for nothing
 */
export function sieveFor(query: Query): Sieve | undefined {
  const { must } = query
  const said = folded(query.text)
  const asked = partsAsked(query)
  if (must === undefined && said === "") return undefined
  const needles = must === undefined ? asked.flatMap(needleOf) : needlesOf(must)
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
      return asked.every(({ word, isPrefix }) =>
        isPrefix ? own.values().some((one) => one.startsWith(word)) : own.has(word),
      )
    },
  }
}

/** What stands in every text that fulfils `node`, in whatever encoding of ASCII. */
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

/** Whether it may be a name as one word, whose parts need not stand side by side in the text. */
const isWholeName = (word: string, words: readonly string[]): boolean =>
  words.some((part) => part !== word && word.startsWith(part.slice(0, -1)))

/** A stem's last letter may stand for another. */
function needleOf({ word, isPrefix }: Pick<Term, "word" | "isPrefix">): RegExp[] {
  if (!/^[a-z0-9]+$/.test(word)) return []
  return [new RegExp(isPrefix ? word : word.replace(/i$/, "[iy]"), "i")]
}
