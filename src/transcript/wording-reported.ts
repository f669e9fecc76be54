/**
 * Words that a sentence passes on: what others say, wrote or want, told without quotation marks. Whoever passes on a
 * rule or a choice has not made it. Pure.
 */
import { wholeWords } from "./wording.ts"

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
