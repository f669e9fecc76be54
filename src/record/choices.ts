/**
 * Choices that name an option by its number, letter or place alone ("option 2", "B", "the second one"), which say nothing
 * without the list they point into: looked up in what the model said before. Pure.
 */
import { cut, oneLine } from "../base/text.ts"

/** What the model said before, a text for each turn in which it said something, newest first. Called only if needed. */
type Before = () => readonly string[]

const OPTION =
  "options?|choices?|variants?|approach(?:es)?|alternatives?|proposals?|routes?|plans?|ways?|paths?|solutions?|varianten?|möglichkeit(?:en)?|vorschlag|ansatz|lösung|wege?|opci[oó]n(?:es)?|alternativas?|enfoques?|选项|方案"
const OPTION_OF_MODEL =
  "options?|choices?|variants?|approach(?:es)?|alternatives?|proposals?|plans?|varianten?|möglichkeit(?:en)?|vorschlag|ansatz|opci[oó]n(?:es)?|alternativas?|enfoques?|选项|方案|wege?"
const PLACES: readonly (readonly string[])[] = [
  ["first", "1st", "former", "erste", "ersten", "erster", "erstes", "primero", "primera"],
  ["second", "2nd", "zweite", "zweiten", "zweiter", "zweites", "segundo", "segunda"],
  ["third", "3rd", "dritte", "dritten", "dritter", "drittes", "tercero", "tercera"],
  ["fourth", "4th", "vierte", "vierten", "vierter", "viertes", "cuarto", "cuarta"],
  ["last", "latter", "letzte", "letzten", "letzter", "letztes", "último", "última"],
]
const COUNTS: readonly string[] = ["one", "two", "three", "four", "five"]
const CHINESE = "一二三四五"
const PLACE = PLACES.flat().join("|")

/** An option's name: with the word for it, by its place, or bare. */
const NAMED = String.raw`(?:the |die |den |la |el )?(?:${OPTION})\s*[#(]?(?<named>\d{1,2}|[a-h]|${COUNTS.join("|")}|[${CHINESE}])(?![\p{L}\p{N}])\)?`
const PLACED = String.raw`(?:the |your |die |den |das |la |el )(?<placed>${PLACE})(?![\p{L}\p{N}])`
const NOUN = String.raw`(?: (?:one|${OPTION})(?!\p{L}))`
const BARE = String.raw`[#(]?(?<bare>\d{1,2}|[a-h])(?![\p{L}\p{N}])\)?`
const AND = /^\s*(?:,|&|\+|(?:and|plus|und|y|和)(?!\p{L}))\s*/iu

/* A human's choice, word by word. */

const ASSENT =
  /^(?:(?:yes|yeah|yep|yup|ok|okay|sure|good|great|perfect|fine|all ?right|right|agreed|thanks|thank you|hm+|well|so|then|cool|nice|please|ja|gut|klar|danke|also|dann|sí|vale|bien|gracias|entonces|好的?|行|可以|那就?)(?![\p{L}\p{N}])[\s,.!:;，。—–-]*){1,3}/iu
const CHOOSING =
  /^(?:let['’]?s |i(?:['’](?:ll|d|m))?(?: would| will)? |we(?:['’](?:ll|re))?(?: will)? |just |please |ich |wir )*(?:go(?:ing)? (?:ahead )?(?:with|for) |take |use |do |try |pick |choose |prefer |like |want |stick with |proceed with |opt for |vote for |my (?:choice|vote) is |nimm |nehme |nehmen(?: wir)? |mach(?:e|en)?(?: wir)? |wähle |bevorzuge |bitte |lieber |vamos con |prefiero |elijo |escojo |usa |me quedo con |hagamos |(?:就|我)?(?:选(?!项)择?|用|采用|按)\s*)/iu
const PRAISE =
  /^ (?:it is|please|sounds (?:good|right|best|great)|is (?:fine|good|great|best|better|ok|okay|right|the one|my choice)|works(?: for me)?|looks (?:good|best|right)|then|for me|i think|as (?:you )?(?:recommended|suggested|proposed)|bitte|dann|por favor|entonces)(?!\p{L})/iu
/** What may follow: the end, or what is added to it. */
const FOLLOWS =
  /^\s*(?:[.!。！]?\s*$|[,;:，；—–]|-\s|(?:but|and|with|without|because|since|as|so|for|plus|aber|und|mit|ohne|weil|pero|y|con|sin|porque)(?!\p{L}))/iu
/** What may follow a bare label or a place, of which others are said more often. */
const FOLLOWS_BARE =
  /^\s*(?:[.!。！]*\s*$|[,，;；]?\s*(?:but|and|with|without|because|since|for|plus|then|please|thanks|aber|und|mit|ohne|weil|bitte|danke|dann|pero|y|con|sin|porque|por favor|gracias)(?!\p{L}))/iu
/** No choice, or one that is taken back. */
const UNCHOSEN =
  /(?<!\p{L})(?:no|not|never|nope|\p{L}+n['’]t|cannot|wait|hold on|out of|tell me|explain|what|why|how|nicht|nein|kein\p{L}*|nie|nunca|warum|erklär\p{L}*|explica\p{L}*)(?!\p{L})|[?？不]/iu
const OTHER = new RegExp(
  String.raw`(?<!\p{L})(?:but|however|although|otherwise|rather|instead|prefer|aber|sondern|pero|sino)(?!\p{L}).{0,80}?(?:${NAMED}|${PLACED}(?:${NOUN}|\s*[.,;!]?\s*$)|(?:with|take|use|do|pick|choose|prefer|like|want|but) ${BARE}\s*[.,;!]?\s*$)`.replace(
    /\?<(?:named|placed|bare)>/g,
    "?:",
  ),
  "iu",
)
const NAMED_FIRST = new RegExp(`^${NAMED}`, "iu")
const PLACED_FIRST = new RegExp(`^${PLACED}${NOUN}?`, "iu")
const BARE_FIRST = new RegExp(`^${BARE}`, "iu")
const CHINESE_PLACE = new RegExp(`^第(?<placed>[${CHINESE}\\d])(?:个|种|项|条)?(?:方案|选项|吧)?`, "u")

interface Label {
  readonly name: string
  readonly how: "named" | "placed" | "bare"
}

function labelAt(text: string): { readonly label: Label; readonly length: number } | undefined {
  for (const [how, form] of [
    ["named", NAMED_FIRST],
    ["placed", PLACED_FIRST],
    ["placed", CHINESE_PLACE],
    ["bare", BARE_FIRST],
  ] as const) {
    const found = form.exec(text)
    if (found) return { label: { name: found.groups![how]!, how }, length: found[0].length }
  }
  return undefined
}

function chosenBy(sentence: string, isFirst: boolean): Label[] {
  const said = sentence.replace(/\*\*|__|`/g, "").replace(ASSENT, "")
  const verb = CHOOSING.exec(said)?.[0] ?? ""
  let rest = said.slice(verb.length)
  const labels: Label[] = []
  for (let joined: string | undefined = ""; joined !== undefined; ) {
    const found = labelAt(rest.slice(joined.length))
    if (found === undefined) break
    // "option 1 and 3"
    const how = labels[0]?.how === "named" ? "named" : found.label.how
    labels.push({ ...found.label, how })
    rest = rest.slice(joined.length + found.length)
    joined = AND.exec(rest)?.[0]
  }
  const [first] = labels
  if (first === undefined) return []
  const praise = PRAISE.exec(rest)?.[0] ?? ""
  rest = rest.slice(praise.length)
  const follows = first.how === "named" || verb !== "" ? FOLLOWS : FOLLOWS_BARE
  if (!follows.test(rest) || UNCHOSEN.test(rest) || OTHER.test(praise + rest)) return []
  const isClear = first.how !== "bare" || verb !== "" || praise !== "" || isFirst
  return isClear ? labels : []
}

/* The model's, in a sentence that is worded as a decision or as a way that failed. */

/** Ways, paths and routes are mostly those of the code. */
const NAMED_BY_MODEL = NAMED.replace(OPTION, OPTION_OF_MODEL)
const PLACED_BY_MODEL = String.raw`${PLACED} (?:one|${OPTION_OF_MODEL})(?!\p{L})`
/** Of something else that has options. */
const OF_OTHER = String.raw`(?! of (?!(?:the )?(?:two|three|four|these|those|them)(?!\p{L})))`

const OF_MODEL = [
  new RegExp(
    String.raw`(?<!\b(?:rather than|instead of|not|against|statt)\b[^,;:—–]{0,40})(?<!\p{L})(?:(?:go(?:ing)?|went|proceed(?:ing|ed)?|stick(?:ing)?|stay(?:ing|ed)?|start(?:ing|ed)?|continu(?:e|ing|ed)) (?:ahead )?(?:with|for)|(?:settl(?:e|ed|ing)|decid(?:e|ed|ing)|opt(?:ed|ing)?) (?:on|for)|switch(?:ed|ing)? to|take|taking|took|use|using|used|do|doing|chose|choose|choosing|chosen|pick|picked|picking|decision(?:\*\*)?:|für|nehmen?|con)\s+(?:\*\*)?(?:${NAMED_BY_MODEL}|${PLACED_BY_MODEL})${OF_OTHER}`,
    "iu",
  ),
  // As what is spoken of: "option 2 it is", "so the first one cannot work".
  new RegExp(
    String.raw`^(?:in [^,]{1,40}, )?(?:\P{L}|(?:so|then|but|and|good|okay|ok)(?!\p{L}))*(?:${NAMED_BY_MODEL}|${PLACED_BY_MODEL})(?=(?:\*\*)? (?:it is|(?:is|was|did|does)(?:n['’]t)?|cannot|can['’]t|won['’]t|fail(?:s|ed))(?!\p{L}))`,
    "iu",
  ),
]

/** What follows a label where the sentence says itself what was chosen; no mere reason. */
const SAYS_MORE =
  /^(?:(?!(?<!\p{L})(?:because|since|as|weil|da|porque)(?!\p{L})).)*?(?:[:(,—–]|\s-\s)(?!\s*(?:because|since|as|weil|da|porque)(?!\p{L}))[^\p{L}]{0,4}\p{L}/iu

/**
 * Finds the option that a sentence names by its label alone: of a human's, the choice with what was chosen; the model's
 * with the option. What was said before is read once, and only if needed.
 *
 * @param by who says it; a human's prompt begins with it, or not: only there a number alone is a choice
 * @param sofar what the model said in the same answer
 * @returns undefined if the option is not found, or a human chooses none
 */
export function withItsOption(
  before: Before,
): (
  sentence: string,
  by: "model" | "prompt's beginning" | "prompt",
  sofar?: () => string,
) => string | undefined {
  let said: readonly Said[] | undefined
  const all = (): readonly Said[] => (said ??= before().map((text) => new Said(text)))
  return (sentence, by, sofar) => {
    if (by !== "model") {
      const labels = chosenBy(sentence, by !== "prompt")
      return labels.length === 0 ? undefined : withOptions(sentence, labels, all())
    }
    for (const form of OF_MODEL) {
      const found = form.exec(sentence)
      const groups = found?.groups
      if (found === null || groups === undefined) continue
      const { named, placed } = groups
      const label: Label =
        named === undefined ? { name: placed!, how: "placed" } : { name: named, how: "named" }
      const [latest, ...others] = all()
      const own = sofar?.() ?? ""
      const last = own === "" && latest !== undefined ? latest : new Said(`${latest?.text ?? ""}\n\n${own}`)
      const rest = sentence.slice(found.index + found[0].length)
      return (
        withOptions(sentence, [label], [last, ...others]) ?? (SAYS_MORE.test(rest) ? sentence : undefined)
      )
    }
    return sentence
  }
}

/** A turn's words, of which the lists are looked for once. */
class Said {
  readonly text: string
  #lists: readonly Options[] | undefined

  constructor(text: string) {
    this.text = text
  }

  get lists(): readonly Options[] {
    this.#lists ??= offeredIn(this.text)
    return this.#lists
  }
}

/** Characters of a note that a restore shows, and those of the sentence that are kept in any case. */
const NOTE_SHOWN = 240
const LEAST_SHOWN = 100

function withOptions(sentence: string, labels: readonly Label[], said: readonly Said[]): string | undefined {
  const options: string[] = []
  for (const label of labels) {
    const option = optionOf(label, said)
    if (option === undefined) return undefined
    options.push(option)
  }
  const chosen = ` (${options.join("; ")})`
  return cut(oneLine(sentence), Math.max(LEAST_SHOWN, NOTE_SHOWN - chosen.length)) + chosen
}

/** With the word for it, an option may have been listed before something else was said about it. */
const optionOf = (label: Label, said: readonly Said[]): string | undefined => {
  for (const { lists } of label.how === "named" ? said : said.slice(0, 1)) {
    const found = lists.findLast((list) => list.has(keyIn(list, label)))
    if (found === undefined) continue
    const key = keyIn(found, label)
    return `option ${key}: ${found.get(key)!}`
  }
  return undefined
}

type Options = ReadonlyMap<string, string>

function keyIn(list: Options, { name, how }: Label): string {
  const word = name.toLowerCase()
  const count = Math.max(COUNTS.indexOf(word), CHINESE.indexOf(word)) + 1
  if (how !== "placed") return count > 0 ? String(count) : name.toUpperCase()
  const place = PLACES.findIndex((forms) => forms.includes(word))
  const keys = [...list.keys()]
  if (place === PLACES.length - 1) return keys.at(-1)!
  return keys[place >= 0 ? place : count > 0 ? count - 1 : Number(name) - 1] ?? ""
}

/*
 * Lists of options in what the model said: lines that begin with a number or letter, a table's rows, or all within one
 * sentence. Steps and findings are numbered as well: options are announced as such, or asked about.
 */

/** Where a sentence ends. */
const ENDS = /(?<=[.!?])\s+|(?<=[。！？])/
const OPTION_SHOWN = 120
const SHORTEST = 3
/** A bold beginning of this length says what the option is. */
const LEAD_SAYS = 20
const ITEM = new RegExp(
  String.raw`^(?<word>(?:${OPTION})\s+)?(?:[([](?<inside>\d{1,2}|[a-z])[)\]]|(?<label>\d{1,2}|[a-z])(?![\p{L}\p{N}]))\uFE0F?(?<key>\u20E3)?\s*(?:\*\*|__|${"`"})?\s*(?:\((?:recommended|my pick|preferred|default|empfohlen|recomendad[oa]|推荐)[^()]*\))?\s*(?:\*\*|__)?\s*(?<sep>[.):|—–：、]|-(?=\s))?\s*`,
  "iu",
)
const LINE_MARKS = /^(?:>\s?|[-*+•]\s+|#{1,6}\s+|\|\s*)*/
const MARKS = new RegExp(String.raw`${LINE_MARKS.source}(?:\*\*|__|${"`"})?`)

interface Item {
  readonly key: string
  readonly text: string
  readonly indent: number
  readonly isNamed: boolean
}

function itemIn(line: string): Item | undefined {
  const trimmed = line.trimStart()
  const marks = MARKS.exec(trimmed)![0]
  const rest = trimmed.slice(marks.length)
  const found = ITEM.exec(rest)
  if (found === null) return undefined
  const { word, inside, label = inside!, key, sep } = found.groups!
  const after = rest.slice(found[0].length)
  const isNamed = word !== undefined
  if (inside === undefined && key === undefined && sep === undefined && !(isNamed && after === ""))
    return undefined
  // "a - b" is no item.
  if (!isNamed && inside === undefined && /[a-z]/.test(label) && sep !== ")") return undefined
  const cell = marks.startsWith("|") ? after.split("|")[0]! : after
  return { key: label.toUpperCase(), text: cell, indent: line.length - trimmed.length, isNamed }
}

interface List {
  readonly options: Map<string, string>
  last: string
  readonly indent: number
  readonly isNamed: boolean
  /** The lines before it. */
  readonly before: readonly string[]
  /** The last line before it that is not indented. */
  readonly flush: number
  readonly from: number
  to: number
}

const follows = (key: string, last: string): boolean =>
  /\d/.test(key) ? Number(key) === Number(last) + 1 : key.charCodeAt(0) === last.charCodeAt(0) + 1

/*
 * Hooks wait for it, and an answer may be anything: of each so much is looked at that no wording takes long. A question
 * is asked at the end.
 */
const TEXT_END = 32 << 10
const LINES_END = 150
const LINE_BEGINNING = 500
const PROSE_END = 2000
const MOST_LISTS = 50

/** Those in which an option can be chosen, as they come. */
function offeredIn(text: string): Options[] {
  const lines = text
    .replace(/```[\s\S]*?(```|$)/g, "\n")
    .slice(-TEXT_END)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-LINES_END)
  const items = lines.map((line) => itemIn(line.slice(0, LINE_BEGINNING)))
  const lists: List[] = []
  let flush = -1
  for (const [n, item] of items.entries()) {
    const list = item && listWith(item, n, lines, lists, flush)
    if (list !== undefined && lists.push(list) > MOST_LISTS) lists.shift()
    if (!/^\s{2}/.test(lines[n]!)) flush = n
  }
  const offered = lists.filter(
    (list) =>
      list.options.size > 1 &&
      (list.isNamed || isAsked(lines, list)) &&
      !lists.some((other) => isWithin(list, other)),
  )
  const prose = lines.filter((_, n) => items[n] === undefined)
  return [...inSentences(prose).slice(-MOST_LISTS), ...offered.map(({ options }) => options)]
}

/** Adds the item to the list that it continues. @returns the list that it begins, if any */
function listWith(
  { key, text, indent, isNamed }: Item,
  n: number,
  lines: readonly string[],
  lists: readonly List[],
  flush: number,
): List | undefined {
  const said = optionText(text === "" ? (lines[n + 1] ?? "").slice(0, LINE_BEGINNING) : text)
  if (said === undefined) return undefined
  const open = lists.findLast(
    (list) => list.indent === indent && list.isNamed === isNamed && follows(key, list.last),
  )
  if (open !== undefined) {
    open.options.set(key, said)
    open.last = key
    open.to = n
    return undefined
  }
  if (key !== "1" && key !== "A") return undefined
  const before = lines.slice(Math.max(0, n - INTRODUCTION), n)
  return { options: new Map([[key, said]]), last: key, indent, isNamed, before, flush, from: n, to: n }
}

const ANNOUNCED =
  /\b(?:options?|choices?|choose|approach(?:es)?|alternatives?|ways|variants?|which|pick|prefer|proceed|either|want(?: me)? to|(?:should|shall) (?:I|we)|would you like)\b|optionen|soll(?:en)? (?:ich|wir)|varianten|möglichkeiten|wege|welche|opciones|alternativas|cuál|选项|方案|哪/i
const ASKED =
  /\b(?:options?|which|prefer|choose|pick|proceed|go with|either)\b[^.!?\n]*\?|\b(?:1|A)\b[^.?!\n]{0,80}\b(?:or|oder|o)\b[^.!?\n]*\?|\bI(?:['’]d| would)? (?:recommend|suggest|lean|prefer|go (?:with|for))\b|\b(?:my (?:recommendation|pick|preference|vote)|recommend(?:ed|ation)|your call|(?:know|tell me|say) which)\b|welche|empfehl|cuál|recomiendo|哪|推荐|建议/i
/** Lines before a list, of which a heading may announce it, and characters behind it that may ask. */
const INTRODUCTION = 3
const TITLE = /^#{1,6} |^\*\*[^*]+\*\*:?$/
const AFTERWORD = 800

/** Whether a list only says more about an item of another. */
const isWithin = (list: List, other: List): boolean =>
  list.indent > other.indent && list.from > other.from && list.flush <= other.to

function isAsked(lines: readonly string[], { before, to }: List): boolean {
  const ends = before.map((line) => line.slice(-LINE_BEGINNING))
  const last = ends.at(-1) ?? ""
  if (/[?？][\s*_]*$/.test(last)) return true
  const announcing = [last, ...ends.filter((line) => TITLE.test(line.trim()))]
  const after = lines
    .slice(to + 1, to + 1 + AFTERWORD)
    .join("\n")
    .slice(0, AFTERWORD)
  return announcing.some((line) => ANNOUNCED.test(line)) || ASKED.test(after)
}

/** "option 1 (keep it) or option 2 (drop it)", "(a) keep it or (b) drop it?" */
const WITHIN: readonly RegExp[] = [
  /\b(?:option|approach|variant|variante|opción) (\d|[a-h])(?:\*\*)?\s*\(([^()]{8,})\)/giu,
  /\b(?:option|approach|variant|variante|opción) (\d|[a-h])(?:\*\*)?\s*(?:[:=—–]|is to|would be to)\s+([^;?.]+?)(?=[;,]?\s*(?:or |and |oder |o )?\b(?:option|approach|variant|variante|opción)\b|[;?.]|$)/giu,
  /\(([a-h]|\d)\)\s*([^()?;]{4,}?)(?=[,;]?\s*(?:or |and |oder |o )?\((?:[a-h]|\d)\)|[?;.]|$)/giu,
]

function inSentences(lines: readonly string[]): Options[] {
  const found: Options[] = []
  for (const line of lines) {
    const prose = oneLine(line.slice(-PROSE_END))
    for (const form of WITHIN) {
      const options = new Map<string, string>()
      for (const [, key = "", said = ""] of prose.matchAll(form)) {
        const text = optionText(said)
        if (text !== undefined && !options.has(key.toUpperCase())) options.set(key.toUpperCase(), text)
      }
      if (options.size > 1) found.push(options)
    }
  }
  return found
}

/** Its bold beginning if that says something, else its first sentence. A question is no option. */
function optionText(said: string): string | undefined {
  if (/[?？][\s*_]*$/.test(said)) return undefined
  const isBold = said.split("**").length % 2 === 0
  const lead = isBold ? said.split("**")[0] : /^\*\*(.+?)\*\*/.exec(said)?.[1]
  const whole = lead !== undefined && lead.length >= LEAD_SAYS ? lead : said
  const text = oneLine(whole.replace(/\*\*|__/g, "").replace(LINE_MARKS, ""))
    .replace(/\s*\((?:recommended|empfohlen|recomendad[oa]|推荐)[^()]*\)/i, "")
    .split(ENDS, 1)[0]!
    .replace(/(?<![.:;,。：；])[.:;,。：；]+$/, "")
  return text.replace(/\P{L}/gu, "").length < SHORTEST ? undefined : cut(text, OPTION_SHOWN)
}
