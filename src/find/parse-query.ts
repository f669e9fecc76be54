/**
 * Parses what a person typed into what is searched. Every text is a valid query: what does not parse as an operator is
 * a word. Pure.
 *
 * Plain words rank messages by how many of them they contain. `AND`, `OR`, `NOT` in capitals, parentheses, "phrases",
 * `prefixes*` and `role:`, `tool:` say what a message must have.
 */
import { isHalfPair, namesIn, splitPrefix } from "../base/words.ts"

export type Node =
  | { readonly kind: "and" | "or"; readonly nodes: readonly Node[] }
  | { readonly kind: "not"; readonly node: Node }
  /** All of these stems. */
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "prefix"; readonly prefix: string }
  /** Exactly this text, apart from case and white space. */
  | { readonly kind: "phrase"; readonly text: string; readonly words: readonly string[] }
  | { readonly kind: "field"; readonly field: Field; readonly value: string }

type Field = "role" | "tool"

export interface Term {
  readonly word: string
  readonly isPrefix: boolean
  /** As it was typed. */
  readonly typed: string
}

/** Whether `begin*` was typed: halves of pairs are prefixes as well. */
export const isTypedPrefix = ({ isPrefix, word }: Term): boolean => isPrefix && !isHalfPair(word)

export interface Query {
  readonly text: string
  readonly terms: readonly Term[]
  /** What a message must fulfil. Undefined: it need only contain one of the terms. */
  readonly must: Node | undefined
  /** Whether operators demand it. Quotation marks alone may just be part of a sentence. */
  readonly isStrict: boolean
}

/** A pasted log is a query as well. Its rarest words count in the end, and those are seldom short. */
const MOST_TERMS = 64
/** Nesting of parentheses; deeper ones are ignored. FTS5 supports about 35 levels. */
const DEEPEST = 20
/**
 * UTF-16 units that are parsed. There must be a limit, since all words inside quotation marks or among operators are
 * required.
 */
const LONGEST = 4000

export function parseQuery(text: string): Query {
  const tokens = tokenize(text.slice(0, LONGEST))
  const strict = tokens.some(({ kind }) => kind === "operator")
  const required = strict ? new Parser(tokens).parse() : lenient(DATA.test(text) ? unquoted(tokens) : tokens)
  return { text, terms: termsOf(tokens, strict), must: required, isStrict: strict }
}

/** The values of a field that is required, or one of those that are. */
export function fieldsOf(node: Node | undefined, field: Field): string[] {
  if (node?.kind === "field") return node.field === field ? [node.value] : []
  return node?.kind === "and" || node?.kind === "or" ? node.nodes.flatMap((one) => fieldsOf(one, field)) : []
}

/**
 * Whether the query has only punctuation. The index holds none, so nothing matches; only an empty query shows the
 * newest.
 */
export const isWordless = ({ text, terms, must }: Query): boolean =>
  terms.length === 0 && must === undefined && text.trim() !== ""

interface Token {
  readonly kind: "word" | "phrase" | "prefix" | "field" | "operator" | "open" | "close"
  readonly text: string
}

const OPERATORS: readonly string[] = ["AND", "OR", "NOT"]
/** Who may say something, as people call it and as it is kept. */
export const ROLES = { human: "human", assistant: "assistant", tool: "tool", "claude-code": "host" } as const
/** Other words for these. */
export const ALSO_ROLES: Readonly<Record<string, keyof typeof ROLES>> = {
  user: "human",
  claude: "assistant",
  model: "assistant",
  agent: "assistant",
  ai: "assistant",
  system: "claude-code",
  host: "claude-code",
}
/** `role:admin` is about something else. */
const FIELD = /^(?:role:(?:human|assistant|tool|host|claude-code)\W*$|tool:.)/i

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let depth = 0
  for (let at = 0; at < text.length; ) {
    const unit = text[at]!
    // A quotation mark without a closing one is ignored.
    const close = unit === '"' ? text.indexOf('"', at + 1) : -1
    if (close >= 0) {
      tokens.push({ kind: "phrase", text: text.slice(at + 1, close) })
      at = close + 1
    } else if (parts(unit)) {
      if (unit === "(" && ++depth <= DEEPEST) tokens.push({ kind: "open", text: unit })
      if (unit === ")" && depth-- <= DEEPEST) tokens.push({ kind: "close", text: unit })
      depth = Math.max(depth, 0)
      at++
    } else {
      const from = at
      while (at < text.length && !parts(text[at]!)) at++
      tokens.push(wordToken(text.slice(from, at)))
    }
  }
  return tokens.filter(({ kind, text: one }) => kind !== "phrase" || hasWord(one)).map(asOperator)
}

/** Whether this character ends the word before it. */
const parts = (unit: string): boolean => '"()'.includes(unit) || unit.trim() === ""

function wordToken(word: string): Token {
  if (word.includes(":") && FIELD.test(word)) return { kind: "field", text: word }
  return word.endsWith("*") && /[\p{L}\p{N}]\*$/u.test(word)
    ? { kind: "prefix", text: word.slice(0, -1) }
    : { kind: "word", text: word }
}

/** An operator needs something on both sides; `NOT` only after it. */
function asOperator(token: Token, at: number, all: readonly Token[]): Token {
  if (token.kind !== "word" || !OPERATORS.includes(token.text)) return token
  const before = all[at - 1]
  const after = all[at + 1]
  const joins = before !== undefined && after !== undefined && before.kind !== "open"
  const negates = token.text === "NOT" && after !== undefined
  return joins || negates ? { kind: "operator", text: token.text } : token
}

const hasWord = (text: string): boolean => namesIn(text).length > 0

/** A key and its value, pasted: quotation marks are part of it, and demand nothing. */
const DATA = /"\s*:\s*(?:["[{\d-]|(?:true|false|null)\b)/

const unquoted = (tokens: readonly Token[]): Token[] => tokens.filter(({ kind }) => kind !== "phrase")

/** Without operators, only phrases and fields are required. */
function lenient(tokens: readonly Token[]): Node | undefined {
  return all(
    tokens.filter(({ kind }) => kind === "phrase" || kind === "field").flatMap((one) => nodeOf(one) ?? []),
  )
}

const all = (nodes: readonly Node[]): Node | undefined =>
  nodes.length > 1 ? { kind: "and", nodes } : nodes[0]

function nodeOf({ kind, text }: Token): Node | undefined {
  if (kind === "field") {
    const colon = text.indexOf(":")
    const [field, value] = [text.slice(0, colon).toLowerCase() as Field, text.slice(colon + 1)]
    return {
      kind,
      field,
      value: field === "role" ? value.replace(/^claude-code/i, ROLES["claude-code"]) : value,
    }
  }
  const words = wordsOf(text)
  if (words.length === 0) return undefined
  if (kind === "phrase") return { kind, text: folded(text), words: wordsWithin(text) }
  if (kind === "prefix") {
    const [before, prefix] = splitPrefix(text)
    const nodes: Node[] = prefix === "" ? [] : [{ kind: "prefix", prefix }]
    const others = wordsOf(before)
    if (others.length > 0) nodes.unshift({ kind: "words", words: others })
    return all(nodes)
  }
  return { kind: "words", words }
}

const wordsOf = (text: string): string[] => namesIn(text).flatMap((name) => sought(name.words))

/** Those of a phrase: `"user-profile"` is also in a longer name, which has only its parts. */
const wordsWithin = (text: string): string[] =>
  namesIn(text).flatMap(({ words, at, length }) =>
    words.length > 1 && isAscii(text.slice(at, at + length)) ? words.slice(0, -1) : sought(words),
  )

export const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text)

/** Without letters that are in the index only to be found by themselves: the last ones of runs that make pairs. */
const sought = (words: readonly string[]): readonly string[] =>
  words.some(isHalfPair)
    ? words.filter((word) => !isHalfPair(word) || !words.some((one) => one !== word && one.endsWith(word)))
    : words

/** The form in which a text is compared with a phrase. */
export const folded = (text: string): string =>
  text.normalize("NFC").toLowerCase().replace(/\s+/g, " ").trim()

/** `a OR b c` means `a OR (b AND c)`. What does not parse is skipped. */
class Parser {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  parse(): Node | undefined {
    const nodes: Node[] = []
    while (this.#at < this.#tokens.length) {
      const node = this.#or()
      if (node !== undefined) nodes.push(node)
      // Skip a closing parenthesis that nothing opened.
      this.#at++
    }
    return all(nodes)
  }

  #or(): Node | undefined {
    const nodes: Node[] = []
    for (;;) {
      const node = this.#and()
      if (node !== undefined) nodes.push(node)
      if (!this.#takes("OR")) break
    }
    return nodes.length > 1 ? { kind: "or", nodes } : nodes[0]
  }

  #and(): Node | undefined {
    const nodes: Node[] = []
    for (;;) {
      while (this.#takes("AND")) {}
      const token = this.#tokens[this.#at]
      if (token === undefined || token.kind === "close" || this.#isOperator("OR")) return all(nodes)
      const node = this.#one()
      if (node !== undefined) nodes.push(node)
    }
  }

  #one(): Node | undefined {
    if (this.#takes("NOT")) {
      const token = this.#tokens[this.#at]
      if (token === undefined || token.kind === "close" || token.kind === "operator") return undefined
      const node = this.#one()
      return node && { kind: "not", node }
    }
    const token = this.#tokens[this.#at++]!
    if (token.kind !== "open") return nodeOf(token)
    const node = this.#or()
    this.#at++
    return node
  }

  #isOperator(text: string): boolean {
    const token = this.#tokens[this.#at]
    return token?.kind === "operator" && token.text === text
  }

  #takes(text: string): boolean {
    if (!this.#isOperator(text)) return false
    this.#at++
    return true
  }
}

/** Stop words count only among operators, or when there are no other words; negated words never count. */
function termsOf(tokens: readonly Token[], strict: boolean): Term[] {
  const found = new Map<string, Term>()
  const dull = new Map<string, Term>()
  let negated = 0
  for (const [at, token] of tokens.entries()) {
    if (token.kind === "operator" && token.text === "NOT") negated = endOfOperand(tokens, at + 1)
    if (at < negated || !["word", "phrase", "prefix"].includes(token.kind)) continue
    const [text, prefix] = token.kind === "prefix" ? splitPrefix(token.text) : [uncontracted(token.text), ""]
    for (const name of namesIn(text)) {
      const typed = text.slice(name.at, name.at + name.length)
      const into = !strict && isStopWord(typed.toLowerCase()) ? dull : found
      for (const word of asked(typed, sought(name.words)))
        into.set(word, { word, isPrefix: isHalfPair(word), typed })
    }
    if (prefix === "") continue
    // A longer name has the parts of "BadZi*", but no word that begins so: `zipfile.BadZipFile`.
    const parts = wordsOf(token.text.slice(-prefix.length)).slice(0, -1)
    for (const [n, word] of parts.entries()) {
      const isPrefix = n === parts.length - 1
      if (!isPrefix || word.length > 1)
        found.set(isPrefix ? `${word}*` : word, { word, isPrefix, typed: token.text })
    }
    found.set(`${prefix}*`, { word: prefix, isPrefix: true, typed: token.text })
    // `pull_request` is in the index as a word of its own, too.
    const names = isAscii(token.text) ? namesIn(token.text).map(({ words }) => words) : []
    const joined = names.length === 1 && names[0]!.length > 1 ? names[0]!.at(-1)! : prefix
    found.set(`${joined}*`, { word: joined, isPrefix: true, typed: token.text })
  }
  const terms = [...(found.size > 0 ? found : dull).values()]
  if (terms.length <= MOST_TERMS) return terms
  return terms.sort((a, b) => b.word.length - a.word.length).slice(0, MOST_TERMS)
}

/** What an apostrophe joins to a word: "isn't" is no "isn" and no "t", "who's" no "s". */
const CONTRACTED =
  /(?<![\p{L}\p{N}])(?:is|are|was|were|do|does|did|has|have|had|could|would|should|ca|wo)n['’]t(?!\p{L})|(?<=\p{L})['’](?:s|d|m|re|ve|ll)(?!\p{L})/giu

/** An apostrophe is rare, a pattern takes time to compile. */
const uncontracted = (text: string): string =>
  text.includes("'") || text.includes("’") ? text.replace(CONTRACTED, " ") : text

/** "PRs" also asks for "PR". Split as a name in code it would be "P" and "Rs". */
const asked = (typed: string, words: readonly string[]): readonly string[] =>
  typed.endsWith("s") && /^[A-Z]{2,}s$/.test(typed)
    ? [typed.slice(0, -1).toLowerCase(), typed.toLowerCase()]
    : words

/** The terms that together cover the query: a compound name by its parts, without the whole name as one word. */
export function partsAsked({ terms }: Query): Term[] {
  const last = new Map(terms.map((term) => [term.typed, term]))
  const first = new Map(terms.toReversed().map((term) => [term.typed, term]))
  return terms.filter((term) => {
    const isWhole = last.get(term.typed) === term && first.get(term.typed) !== term
    return !isWhole || !isAscii(term.typed)
  })
}

function endOfOperand(tokens: readonly Token[], at: number): number {
  let depth = 0
  for (let n = at; n < tokens.length; n++) {
    if (tokens[n]!.kind === "open") depth++
    if (tokens[n]!.kind === "close") depth--
    if (depth <= 0 && tokens[n]!.kind !== "operator") return n + 1
  }
  return tokens.length
}

/* English words that say nothing, or little, about a message's subject. Pure. */

// One string: a Set would have to be built at every start.
const STOP_WORDS =
  " a about am an and any are as at be because been before being but by can could did do does doing done for from get " +
  "got had has have he her hers him his how i if in into is it its just like me my no not of off on or our ours she " +
  "should so some such than that the their them then there these they this those to too us was we were what when " +
  "where which while who whom whose why will with would you your yours "

export const isStopWord = (word: string): boolean => STOP_WORDS.includes(` ${word} `)

/** What people put into a question around its subject: of little weight, but "go" and "call" may be the subject. */
const FILLERS =
  " actually again ago all almost already another any anybody anyone anything back call called came come comes coming " +
  "down even ever every everything exactly get gets getting give gives given gone goes going go happen happened happens " +
  "here just keep kept kind know leave left less let lets look looked looking looks lot made make makes making many more " +
  "most much need needed never now off one ones only other others out over put quite really said saw say says see simply " +
  "somebody someone something sort still stuff take takes tell then there thing things think thought told too took up " +
  "very want wanted way ways went yet "

export const isFiller = (word: string): boolean => FILLERS.includes(` ${word} `)
