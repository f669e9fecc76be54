/** How sentences are recognised by their wording, per language. Pure. */

/** A sentence, and what is known of it: several kinds of wordings ask for the same small words. */
export class Sentence {
  readonly text: string
  readonly #has = new Map<RegExp, boolean>()

  constructor(text: string) {
    this.text = text
  }

  has(mark: RegExp): boolean {
    let found = this.#has.get(mark)
    if (found === undefined) {
      found = mark.test(this.text)
      this.#has.set(mark, found)
    }
    return found
  }
}

/** A sentence is of a kind if any of `yes` and none of `no` matches. */
export interface Wording {
  /** Small words of the language. A sentence that has only those of other languages is not tested. */
  readonly smallWords: RegExp
  readonly yes: readonly RegExp[]
  readonly no: readonly RegExp[]
}

/** Wordings of one kind of sentence in every language we know. */
export interface Wordings {
  readonly chinese: Wording
  readonly latin: readonly Wording[]
}

/** Matches whole words in any alphabet. */
export const wholeWords = (...forms: string[]): RegExp =>
  new RegExp(String.raw`(?<!\p{L})(?:${forms.join("|")})(?!\p{L})`, "iu")

/** The same for words in plain letters, which is faster. */
export const plainWords = (...forms: string[]): RegExp =>
  new RegExp(String.raw`\b(?:${forms.join("|")})\b`, "i")

/** The same at the beginning of the sentence, after words like "please" and "but". */
export const begins = (...forms: string[]): RegExp =>
  new RegExp(
    String.raw`^(?:(?:please|and|but|so|then|also|ok|okay|bitte|und|aber|also|por favor|y|pero)[,:]?\s+)*(?:${forms.join("|")})(?!\p{L})`,
    "iu",
  )

export const SMALL_WORDS = {
  english:
    /\b(?:the|an?|to|is|it|of|and|for|you|we|I|this|that|with|my|be|are|was|in|on|not|do|if|all|any|use)\b/i,
  german:
    /\b(?:der|die|das|den|dem|ist|nicht|und|ich|wir|du|bitte|eine?[nrms]?|keine?[nrms]?|mit|auf|im|zu|nie|niemals|immer|nur|statt|weil|verwende|benutze|nutze|dann)\b|[äöüß]/i,
  spanish:
    /\b(?:el|la|los|las|una?|que|de|del|por|con|en|se|lo|es|su|al|y|nunca|jamás|siempre|sin|evita|usar?|responde)\b|[¿¡áéíóúñ]/i,
  any: /\p{L}/u,
} as const

/** Han letters in use as a range, which is faster than the Unicode property. */
const HAN = /[\u3400-\u9fff]/

/** Tests sentences with Han letters as Chinese, all others in the languages whose small words they contain. */
export function isWorded(sentence: Sentence, { chinese, latin }: Wordings): boolean {
  if (sentence.has(HAN)) return isOf(sentence, chinese)
  const likely = latin.filter(({ smallWords }) => sentence.has(smallWords))
  return (likely.length > 0 ? likely : latin).some((wording) => isOf(sentence, wording))
}

const isOf = ({ text }: Sentence, { yes, no }: Wording): boolean => matches(yes, text) && !matches(no, text)

function matches(rules: readonly RegExp[], text: string): boolean {
  for (const rule of rules) if (rule.test(text)) return true
  return false
}

/*
 * Words that a sentence passes on: what others say, wrote or want, told without quotation marks. Whoever passes on a
 * rule or a choice has not made it. Pure.
 */

/** Who is neither the human nor the model. */
const OTHERS = String.raw`(?:he|she|they|it|one|some(?:one|body)|(?:some |other |most )?people|everyone|everybody|claude|chatgpt|gpt|gemini|copilot|(?:the|my|our|his|her|their|an?|that|this|another)(?: (?!(?:not|never|always|to|must|can|will|would|could|should|may|please)\b|\w+n['’]t\b)[\w'’./-]+){1,4}?)`
/** With these, a clause of theirs follows at once; the others are nouns as well. */
const SAY = String.raw`(?:told|tells|said|says?|claim(?:s|ed)|wrote|thinks?|thought|believes?|wants?|wanted|asks|asked|suggest(?:s|ed)|recommend(?:s|ed)?|insist(?:s|ed)?|argue[sd]|warn(?:s|ed)|complain(?:s|ed)|mention(?:s|ed)|advise[sd]|require[sd]|is (?:asking|saying|telling|suggesting|pointing|wondering|right))\b|(?:write|state|note|mean|read)s that\b`
const BEFORE = `^(?:(?:and|but|so|also|well|okay|ok|yes|no),? )*`
/** But what the human makes of it is a rule: "The linter warns that …, so never …". */
const UNLESS_ORDERED = String.raw`(?!.*[,;] (?:so|therefore|hence|but|please)\b.*\b(?:never|always|do not|don['’]?t|must|avoid|keep|make sure)\b)`

export const reportedInEnglish: readonly RegExp[] = [
  new RegExp(`${BEFORE}${OTHERS} (?:also |just |always |often |once )?(?:${SAY})${UNLESS_ORDERED}`, "i"),
  /^(?:according to|apparently|supposedly|allegedly|reportedly)\b/i,
  /\bI(?:['’]ve| have)? (?:read|heard|was told|saw|learned)(?: (?:somewhere|there|here|on \w+|in \w+))? that\b/i,
]

export const reportedInGerman: readonly RegExp[] = [
  /^(?:(?:und|aber|also) )?(?:er|sie|man|jemand|(?:der|die|das|mein|meine|unser|unsere|eine?)(?: [\p{L}-]+){1,3}?) (?:sagte?|meinte?|schreibt|schrieb|behauptet|empfiehlt|will|wollte|möchte|verlangt|findet|glaubt|hat (?:mir |uns )?(?:gesagt|gemeint|geschrieben|empfohlen))(?!\p{L})/iu,
  /^(?:laut|angeblich|anscheinend)(?!\p{L})/iu,
  wholeWords("(?:in|auf) (?:der|dem|den) .{2,30} (?:steht|heißt es)"),
]
