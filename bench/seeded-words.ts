/** Words of a made-up language, as often as words of a real one: the few of them most of the time. */
import type { Dice } from "../src/cli/bench/seeded-random.ts"

const SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split(" ")
const VOCABULARY = 30_000

/** Word n, most frequent first. */
function word(n: number): string {
  let text = ""
  for (let rest = n + 8000; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    text += SYLLABLES[rest % SYLLABLES.length]
  }
  return text
}

const WORDS = Array.from({ length: VOCABULARY }, (_, n) => word(n))

export const sentence = (dice: Dice, words: number): string =>
  Array.from({ length: words }, () => dice.skewed(WORDS)).join(" ")

export const rare = (n: number): string => WORDS[VOCABULARY - 1 - n * 97]!
export const middling = (n: number): string => WORDS[2000 + n * 331]!
export const common = (n: number): string => WORDS[n]!
