/** Random values of a given shape, for sets of secrets. Nothing that looks like a secret stands in the repository. */
import type { Dice } from "../../src/cli/bench/seeded-random.ts"

const LOWER = "abcdefghijklmnopqrstuvwxyz"
const UPPER = LOWER.toUpperCase()
const DIGITS = "0123456789"

/** What a letter in a shape's braces stands for. */
const ALPHABETS: Readonly<Record<string, string>> = {
  A: LOWER + UPPER + DIGITS,
  a: LOWER + DIGITS,
  U: UPPER + DIGITS,
  l: LOWER,
  u: UPPER,
  d: DIGITS,
  h: `${DIGITS}abcdef`,
  H: `${DIGITS}ABCDEF`,
  w: `${LOWER}${UPPER}${DIGITS}_-`,
  b: `${LOWER}${UPPER}${DIGITS}+/`,
  p: `${LOWER}${UPPER}${DIGITS}!#$%^*+~`,
}

/** Words of which people make passwords: `{e1}` is one, `{E1}` one with a capital. */
const WORDS =
  "anchor autumn badger bicycle blanket blossom bridge bronze butter candle canyon captain cedar cherry clover comet copper coral cotton cricket dolphin dragon eagle ember falcon feather forest galaxy garden ginger glacier granite hammer harbor hazel honey hunter island ivory jasmine jungle kettle lantern lemon lobster magnet maple marble meadow mirror monkey mountain nectar ocean olive orange orchid otter paddle panther pepper pickle pirate planet pocket pumpkin purple puzzle rabbit raven ribbon river rocket saddle salmon shadow silver spider summer sunset thunder tiger timber tomato tulip turtle valley velvet violet walnut whisper willow window winter wizard yellow zebra".split(
    " ",
  )

export interface Secret {
  /** The value as services hand it out. */
  readonly text: string
  /** The part of it that must be filled. */
  readonly secret: string
}

const PART = /\{(\w)(\d+)(?:-(\d+))?\}/g

/**
 * A value of this shape: `glpat-{w20}` is the prefix and 20 characters of alphabet `w`, `{d8-10}` 8 to 10 digits. Ends
 * of words are never punctuation, so that a sentence can end behind the value. If only a part of it is secret, as in a
 * URL, that part is in angle brackets.
 */
export function secretOf(shape: string, dice: Dice): Secret {
  const marked = shape.replace(PART, (_, letter: string, least: string, most?: string) => {
    if (letter === "e" || letter === "E") {
      const word = WORDS[dice.between(0, WORDS.length - 1)]!
      return letter === "e" ? word : word.charAt(0).toUpperCase() + word.slice(1)
    }
    const alphabet = ALPHABETS[letter]
    if (alphabet === undefined) throw new Error(`no alphabet ${letter} in ${shape}`)
    const length = dice.between(Number(least), Number(most ?? least))
    let text = ""
    while (text.length < length) {
      const isEdge = text.length === 0 || text.length === length - 1
      const one = alphabet[dice.between(0, alphabet.length - 1)]!
      if (!isEdge || /[A-Za-z0-9]/.test(one)) text += one
    }
    return text
  })
  const [before, secret, after] = marked.split(/[<>]/)
  if (secret === undefined) return { text: marked, secret: marked }
  return { text: before + secret + after!, secret }
}
