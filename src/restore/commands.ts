/** Which commands to tell, and in which order: each for what it tells that those before it do not. Pure. */
import type { Fact } from "./material.ts"

/** Messages by which every command is taken to be older, as in facts.ts. */
const SETTLING = 5
/** Characters that a line takes beside the command. */
const FRAME = 5
/** What it is worth to tell a program with its first word, to the worth of one of its commands. */
const STEM_WORTH = 0.5

interface Candidate {
  readonly fact: Fact
  readonly shown: string
  readonly worth: number
  readonly stems: readonly string[]
}

/**
 * The worthiest first, by what is not told yet: how often and lately it was used, and how its program was.
 *
 * @param shownOf how a command is told
 */
export function diverse(commands: readonly Fact[], shownOf: (fact: Fact) => string): Fact[] {
  const worthOf = ({ times = 1, age = 0 }: Fact): number => times / Math.sqrt(age + SETTLING)
  let left: Candidate[] = commands.map((fact) => ({
    fact,
    shown: shownOf(fact),
    worth: worthOf(fact),
    stems: stemsOf(fact.text),
  }))
  const stemWorth = new Map<string, number>()
  for (const { stems, worth } of left)
    for (const stem of stems) stemWorth.set(stem, (stemWorth.get(stem) ?? 0) + worth)
  const order: Fact[] = []
  while (left.length > 0) {
    const gain = ({ worth, shown, stems }: Candidate): number =>
      (worth + STEM_WORTH * stems.reduce((sum, stem) => sum + (stemWorth.get(stem) ?? 0), 0)) /
      Math.sqrt(shown.length + FRAME)
    const best = left.reduce((a, b) => (gain(b) > gain(a) ? b : a))
    order.push(best.fact)
    for (const stem of best.stems) stemWorth.delete(stem)
    left = left.filter((one) => one !== best && !best.shown.includes(one.fact.text))
  }
  return order
}

/** The first two and three words of each command in a line. */
function stemsOf(line: string): string[] {
  const stems = new Set<string>()
  for (const command of line.split(/&&|\|\||[|;]/)) {
    const words = command.trim().split(/\s+/)
    for (const n of [2, 3]) if (words.length >= n) stems.add(words.slice(0, n).join(" "))
  }
  return [...stems]
}
