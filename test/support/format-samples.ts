/** Random tokens of every format, and the texts in which they may stand. None of them is anybody's. */
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import {
  ALPHABETS,
  type Alphabet,
  OPEN,
  parseShape,
  type ShapePart,
} from "../../src/secrets/formats/shape.ts"

/** Every character of an alphabet. */
const characters = (alphabet: Alphabet): string => {
  const inClass = new RegExp(`[${ALPHABETS[alphabet]}]`)
  return Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n))
    .filter((one) => inClass.test(one))
    .join("")
}

/** How much longer than its least length a run is made when the format names no greatest. */
const MORE = 700

/** `longer`: as if the service had lengthened its tokens. */
export type Length = "least" | "greatest" | "longer"

export class Samples {
  readonly #dice: Dice

  constructor(seed: number) {
    this.#dice = new Dice(seed)
  }

  /** A token of this shape. */
  token(written: string, length: Length): string {
    const shape = parseShape(written)
    const token = this.#parts(shape.parts, length === "least" ? length : "greatest")
    const last = shape.parts.at(-1)
    const isLonger = length === "longer" && !shape.isWhole && last?.kind === "run" && last.alphabet !== "uuid"
    return isLonger && last.alphabet !== "b64" ? token + this.#of(last.alphabet, 40) : token
  }

  #pick = <T>(from: ArrayLike<T>): T => from[Math.floor(this.#dice.unit() * from.length)]!

  #parts(parts: readonly ShapePart[], length: "least" | "greatest"): string {
    return parts.map((part) => this.#part(part, length)).join("")
  }

  #part(part: ShapePart, length: "least" | "greatest"): string {
    if (part.kind === "text") return part.text
    if (part.kind === "choice") {
      if (part.optional && length === "least") return ""
      return this.#parts(this.#pick(part.options), length)
    }
    if (part.alphabet === "uuid") return [8, 4, 4, 4, 12].map((n) => this.#of("hex", n)).join("-")
    const greatest = part.greatest === OPEN ? part.least + MORE : part.greatest
    return this.#of(part.alphabet, length === "least" ? part.least : greatest)
  }

  /** Begins and ends with a letter or digit, as part of a token's alphabet may also end a sentence. */
  #of(alphabet: Alphabet, length: number): string {
    const all = characters(alphabet)
    const plain = all.replace(/[^A-Za-z0-9]/g, "")
    const run = Array.from({ length }, (_, n) => this.#pick(n === 0 || n === length - 1 ? plain : all))
    // Random text has a digit; for a mixed run that must be so.
    if (alphabet.startsWith("mix")) for (let n = 1; n < length; n += 3) run[n] = this.#pick("23456789")
    return run.join("")
  }
}

/** `@` stands for the token. */
export const SURROUNDINGS: Readonly<Record<string, string>> = {
  alone: "@",
  "in a sentence": "The value is @, as you know.",
  "behind a line break": "first\n@\nlast",
  "behind a tab": "name\t@\tmore",
  "in double quotes": '{"value": "@", "n": 1}',
  "in single quotes": "x = '@';",
  "in backticks": "Use `@` here",
  "in JSON in JSON": JSON.stringify({ text: 'a "@" b\n@' }),
  "behind an option": "run --api-key @ --verbose",
  "behind an equals sign": "VALUE=@\nOTHER=1",
  "in an address": "https://example.com/path?value=@&n=1",
  "in XML": "<value>@</value>",
  "behind a colour": "\u001b[1;32m@\u001b[0m done",
  "behind a line number": "    12→@",
  "in brackets": "f(@) [@] {@}",
  "behind a colon": "value:@",
  "in a list": "- @\n- other",
}
